// Search on the server: resources by the beginning of their name. It also finds resources that no agent holds now.

import { h, keyed, part } from "../lib/dom.js";
import { isOver } from "../lib/live.js";
import { number, t } from "../lib/text.js";

const PAUSE_MS = 300;

export class Beyond {
  #words = "";
  #timer = null;

  /** @param {(resource: string) => void} open */
  constructor(root, board, open) {
    this.root = root;
    this.board = board;
    root.addEventListener("click", ({ target }) =>
      open(target.closest("button[data-resource]")?.dataset.resource),
    );
  }

  /** Starts the search that the address asks for. */
  follow() {
    const words = this.board.address.vista === "recursos" ? this.board.address.q.trim() : "";
    if (words === this.#words) return;
    this.#words = words;
    clearTimeout(this.#timer);
    this.root.hidden = true;
    if (words) this.#timer = setTimeout(() => this.#ask(words), PAUSE_MS);
  }

  async #ask(words) {
    let found = [];
    let failed = false;
    try {
      ({ resources: found } = await (await this.board.ask(this.root.dataset.from, { prefijo: words })).json());
    } catch {
      // If the board has ended for good, the reason is shown above the list.
      failed = !isOver(this.board.live.state);
    }
    if (words !== this.#words) return;
    const { sections } = this.board.picture ?? { sections: new Map() };
    const others = found.filter(({ resource }) => !sections.has(resource));
    this.root.hidden = !others.length && !failed;
    part(this.root, "failed").hidden = !failed;
    keyed(
      part(this.root, "found"),
      others,
      ({ resource }) => resource,
      row,
      () => {},
    );
  }
}

const row = ({ resource, lastToken }) =>
  h(
    "li",
    {},
    h("button", { type: "button", class: "link-button", "data-resource": resource }, h("code", {}, resource)),
    h("span", { class: "quiet" }, ` ${t("bd_free_since_token", { token: number(lastToken) })}`),
  );
