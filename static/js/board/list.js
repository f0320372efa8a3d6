// A list of the board: keeps its rows in order, does not move them under the pointer, draws the visible ones.

import { part, put } from "../lib/dom.js";
import { number, t } from "../lib/text.js";
import { Order } from "./order.js";
import { Rows } from "./rows.js";
import { still } from "./still.js";

export class List {
  #stale = true;
  #count = 0;

  /**
   * @param {HTMLElement} root the view, with parts rows, empty, changes
   * @param {{
   *   all: () => Iterable<string>,
   *   find: (key: string) => any,
   *   rank: (thing: any) => unknown[] | null,
   *   filtered: () => boolean,
   *   create: () => HTMLElement,
   *   update: (row: HTMLElement, key: string) => void,
   * }} kind `filtered`: whether a search or filter is on
   */
  constructor(root, kind) {
    this.root = root;
    this.kind = kind;
    this.order = new Order(kind.find, kind.rank);
    const table = part(root, "rows");
    this.table = table.parentElement;
    this.rows = new Rows(table, kind);
    this.empty = part(root, "empty");
    this.button = part(root, "changes");
    this.button.addEventListener("click", () => {
      this.order.settle();
      this.draw();
    });
    still([this.table, this.button.parentElement], (held) => {
      this.order.hold(held);
      this.draw();
    });
  }

  /** Search, filter or order has changed: the next draw sorts everything again. */
  again() {
    this.#stale = true;
  }

  /** Notes that the things with these keys have changed; null for all. */
  note(keys) {
    if (keys === null || this.root.hidden) this.again();
    else if (!this.#stale) this.order.change(keys);
  }

  draw() {
    if (this.root.hidden) return;
    if (this.#stale) this.order.begin(this.kind.all());
    this.#stale = false;
    const { keys, pending, held } = this.order;
    this.table.hidden = !keys.length;
    this.rows.show(keys);
    this.empty.hidden = keys.length > 0;
    const filtered = this.kind.filtered();
    part(this.empty, "nothing").hidden = filtered;
    part(this.empty, "no-match").hidden = !filtered;
    // The button keeps its place while the list is held, so that it moves nothing either.
    this.button.toggleAttribute("data-idle", !(held && pending));
    this.button.disabled = !(held && pending);
    if (pending) this.#count = pending;
    put(this.button, t("bd_changes", { n: this.#count, count: number(this.#count) }));
  }
}
