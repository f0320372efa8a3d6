// What Lanzar has besides launching: history, links to a request, help. History and help are fetched when first used.

import { copied, part } from "../lib/dom.js";
import { furnish } from "../lib/parts.js";
import { number, t } from "../lib/text.js";
import { History } from "./history.js";
import { link, opened, PLACEHOLDER } from "./operations.js";
import { onShortcut } from "./shortcuts.js";

export class Extras {
  history = new History();
  #view = null;

  /** @param {{form, trial, signers, launch: () => void, announce: (words: string) => void}} page */
  constructor(root, page) {
    const { form, trial, signers, launch, announce } = page;
    this.root = root;
    this.form = form;
    this.signers = signers;
    this.launch = launch;
    this.section = part(root, "history");
    this.section.addEventListener("toggle", () => this.section.open && this.#show());
    this.history.addEventListener("change", () => this.#count());
    this.#count();
    part(root, "share").addEventListener("click", async ({ currentTarget: button }) => {
      const own = trial.identities.map(({ did }) => did);
      const address = link(form.operation, form.editor.value, own);
      if (!(await copied(address))) {
        history.replaceState(null, "", address);
        return announce(t("shared_in_address"));
      }
      announce(t("shared"));
      const words = button.textContent;
      button.textContent = t("copied");
      setTimeout(() => (button.textContent = words), 1500);
    });
    part(root, "help").addEventListener("click", () => this.#help());
    onShortcut({
      operation: (key) => form.chooseNth(Number(key)),
      editor: () => form.editor.focus(),
      answer: () => root.querySelector("#answer-title").focus(),
      history: () => this.openHistory(),
      help: () => this.#help(),
    });
  }

  /** Opens the request that the page's address holds, if it holds one. */
  openShared() {
    const shared = opened(location.hash);
    if (!shared) return;
    this.form.openText(shared.operation, shared.text, t("opened_shared"));
    this.root.scrollIntoView();
    this.form.button.focus({ preventScroll: true });
  }

  async openHistory() {
    this.section.open = true;
    // Before the list is there: the visitor may have moved the focus elsewhere by then.
    this.section.querySelector("summary").focus();
    await this.#show();
    this.section.scrollIntoView({ block: "nearest" });
  }

  /** Opens the history to compare the latest launch with another. */
  async compare() {
    await this.openHistory();
    this.#view.chooseNewest();
  }

  async #show() {
    const [{ HistoryView }] = await Promise.all([import("./history-view.js"), furnish("history")]);
    this.#view ??= new HistoryView(part(this.root, "history-body"), this.history, {
      again: ({ operation, text, by }) => {
        // The same agent signs again; if its key does not exist any more, the chosen agent signs.
        const known = this.signers.chooseDid(by);
        this.form.openText(operation, known ? text : text.replaceAll(by, PLACEHOLDER), "");
        this.launch();
      },
    });
  }

  async #help() {
    const [{ help }] = await Promise.all([import("./help.js"), furnish("help")]);
    help(/Mac|iPhone|iPad/.test(navigator.platform));
  }

  #count() {
    part(this.root, "history-count").textContent = number(this.history.entries.length);
  }
}
