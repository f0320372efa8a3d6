// A list of the board: kept in order, held still under the pointer, drawn where it is in sight.

import { part } from "../lib/dom.js";
import { number, t } from "../lib/text.js";
import { Order } from "./order.js";
import { Rows } from "./rows.js";
import { still } from "./still.js";
import { put } from "./words.js";

export class List {
  #stale = true;
  #count = 0;

  /**
   * @param {HTMLElement} root the view, with parts rows, empty, changes
   * @param {{
   *   all: () => Iterable<string>,
   *   find: (key: string) => any,
   *   rank: (thing: any) => unknown[] | null,
   *   sought: () => boolean,
   *   create: () => HTMLElement,
   *   update: (row: HTMLElement, key: string) => void,
   * }} kind `sought`: whether less than all is listed
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

  /** What is to be listed, or how, has changed: everything is looked at anew when it is next drawn. */
  again() {
    this.#stale = true;
  }

  /** These have changed; null for all. */
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
    const sought = this.kind.sought();
    part(this.empty, "nothing").hidden = sought;
    part(this.empty, "no-match").hidden = !sought;
    // The button stays for as long as the list is held, so that nothing moves for it either.
    this.button.toggleAttribute("data-idle", !(held && pending));
    this.button.disabled = !(held && pending);
    if (pending) this.#count = pending;
    put(this.button, t("bd_changes", { n: this.#count, count: number(this.#count) }));
  }
}
