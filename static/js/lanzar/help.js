// The list of shortcuts, and the switch that turns single-key shortcuts off (WCAG 2.1.4): dictation would trigger them.

import { h } from "../lib/dom.js";
import { t } from "../lib/text.js";
import { SHORTCUTS, singleKeys } from "./shortcuts.js";

export function help(apple) {
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, t("help_title")),
    h(
      "dl",
      {},
      [["launch", apple ? "⌘ ⏎" : "Ctrl ⏎"], ["leave", "Tab"], ...SHORTCUTS.map(({ id, shown }) => [id, shown])].flatMap(
        ([id, keys]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, t(`help_${id}`))],
      ),
    ),
    h(
      "label",
      { class: "help-switch" },
      h("input", { type: "checkbox", checked: singleKeys.on, onchange: ({ target }) => (singleKeys.on = target.checked) }),
      ` ${t("help_single")}`,
    ),
    h("form", { method: "dialog" }, h("button", { class: "button" }, t("help_close"))),
  );
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}
