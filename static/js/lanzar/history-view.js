// Shows the history: each launch with its outcome, and buttons to pin it, repeat it and compare it with another.

import { h, icon } from "../lib/dom.js";
import { clockTime, duration, instant, number, t } from "../lib/text.js";
import { read } from "../lib/json.js";
import { compared } from "./compare.js";

const DAY_MS = 86_400_000;

/** @param {{again: (entry: object) => void}} actions */
export class HistoryView {
  #chosen = [];

  constructor(root, history, actions) {
    this.history = history;
    this.actions = actions;
    this.list = h("ol", { class: "runs", role: "list" });
    this.result = h("div", { class: "comparison", role: "region", "aria-label": t("hi_comparison"), tabindex: "-1" });
    this.words = h("p", { class: "quiet", role: "status" });
    this.clear = h("button", { type: "button", class: "link-button", onclick: () => history.clear() }, t("hi_clear"));
    root.replaceChildren(h("div", { class: "runs-head" }, this.words, this.clear), this.list, this.result);
    history.addEventListener("change", () => this.show());
    this.show();
  }

  /** Chooses the newest launch for a comparison. */
  chooseNewest() {
    const [newest] = this.history.entries;
    if (newest && !this.#chosen.includes(newest.id)) this.#choose(newest.id, true);
    this.list.querySelector("li:nth-child(2) input, li input")?.focus();
  }

  show() {
    const { entries } = this.history;
    const known = new Set(entries.map(({ id }) => id));
    this.#chosen = this.#chosen.filter((id) => known.has(id));
    this.clear.hidden = !entries.some(({ pinned }) => !pinned);
    const ordered = [...entries.filter(({ pinned }) => pinned), ...entries.filter(({ pinned }) => !pinned)];
    const focus = this.#focus();
    this.list.replaceChildren(...ordered.map((entry) => this.#row(entry)));
    focus?.();
    this.#compare();
  }

  /** Returns a function that restores the focus after the list is drawn again; null if the focus is not in the list. */
  #focus() {
    const row = this.list.contains(document.activeElement) && document.activeElement.closest("li");
    if (!row) return null;
    const place = [...row.querySelectorAll("input, button")].indexOf(document.activeElement);
    return () => {
      const same = [...this.list.children].find(({ dataset }) => dataset.run === row.dataset.run);
      same?.querySelectorAll("input, button")[place]?.focus({ preventScroll: true });
    };
  }

  #row(entry) {
    const { id, at, pinned, operation, text, status, title, body } = entry;
    const old = Date.now() - at > DAY_MS;
    const resource = read(text).value?.resource;
    const token = body?.lease?.fencingToken ?? body?.released?.fencingToken;
    const what = `${operation} ${resource ?? ""} ${clockTime(at)}`;
    return h(
      "li",
      { class: pinned && "is-pinned", "data-run": id },
      h(
        "label",
        { class: "run-compare" },
        h("input", {
          type: "checkbox",
          checked: this.#chosen.includes(id),
          "aria-label": t("hi_compare", { what }),
          onchange: ({ target }) => this.#choose(id, target.checked),
        }),
      ),
      h("time", { datetime: new Date(at).toISOString() }, old ? instant(at) : clockTime(at)),
      h("span", { class: "run-what" }, h("code", {}, operation), " ", resource !== undefined && h("code", {}, String(resource))),
      h(
        "span",
        { class: "run-outcome" },
        icon(body?.ok ? "signal-go" : "signal-stop", body?.ok ? "is-go" : "is-stop"),
        h("b", {}, String(status)),
        ` ${title}`,
        token !== undefined && ` · ${t("token", { token: number(token) })}`,
      ),
      h(
        "span",
        { class: "run-actions" },
        h(
          "button",
          { type: "button", class: "link-button", "aria-pressed": String(pinned), "aria-label": `${t("hi_pin")}: ${what}`, onclick: () => this.history.pin(id, !pinned) },
          t(pinned ? "hi_unpin" : "hi_pin"),
        ),
        h(
          "button",
          { type: "button", class: "link-button", "aria-label": `${t("hi_again")}: ${what}`, onclick: () => this.actions.again(entry) },
          t("hi_again"),
        ),
      ),
    );
  }

  #choose(id, chosen) {
    // Two at a time: a third replaces the one that was chosen first.
    this.#chosen = chosen ? [...this.#chosen, id].slice(-2) : this.#chosen.filter((other) => other !== id);
    for (const box of this.list.querySelectorAll("input")) {
      box.checked = this.#chosen.includes(box.closest("li").dataset.run);
    }
    this.#compare();
  }

  #compare() {
    const pair = this.#chosen.map((id) => this.history.entries.find((entry) => entry.id === id));
    const { length } = this.history.entries;
    const words = length === 0 ? "hi_empty" : ["hi_choose_two", "hi_choose_one", "hi_chosen"][pair.length];
    this.words.textContent = t(words, { n: length });
    this.result.hidden = pair.length < 2;
    const [earlier, later] = [...pair].sort((a, b) => a.at - b.at);
    this.result.replaceChildren(...(later ? compared(earlier, later, { duration, instant }) : []));
  }
}
