// The launches of this browser, which never leave it: the latest ones. Pinned ones are removed last.

const KEY = "lanzar";
const KEPT = 50;

/** @typedef {{id: string, at: number, pinned: boolean, operation: string, text: string, status: number, title: string,
 *   by: string, body: object, times: object}} Entry */

/** Fires `change`. Without storage it lasts as long as the page. */
export class History extends EventTarget {
  /** @type {Entry[]} newest first */
  entries = read();

  add(entry) {
    const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 6)}`;
    this.#put([{ id, at: Date.now(), pinned: false, ...entry }, ...this.entries]);
  }

  pin(id, pinned) {
    this.#put(this.entries.map((entry) => (entry.id === id ? { ...entry, pinned } : entry)));
  }

  /** Removes all entries that are not pinned. */
  clear() {
    this.#put(this.entries.filter(({ pinned }) => pinned));
  }

  #put(entries) {
    this.entries = entries;
    while (this.entries.length > KEPT) {
      const oldest = this.entries.findLastIndex(({ pinned }) => !pinned);
      this.entries = this.entries.toSpliced(oldest, 1);
    }
    try {
      localStorage.setItem(KEY, JSON.stringify(this.entries));
    } catch {
      // Without storage, the entries last as long as the page.
    }
    this.dispatchEvent(new Event("change"));
  }
}

function read() {
  try {
    const entries = JSON.parse(localStorage.getItem(KEY));
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}
