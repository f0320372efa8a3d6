// A long list of which only the rows in sight exist. Every row is equally high (the length `--row` of the
// stylesheet); the list scrolls with the page. One row is in the tab order; arrows, Page Up and Down, Home
// and End go along them, left and right along what a row has.

const SPARE = 3;
const PAGE = 10;
const FEWEST = 16;
const TRIED = 100;

export class Rows {
  #keys = [];
  #rows = new Map();
  #current = null;
  #height = 0;
  #width = 0;
  /** How many letters of an agent's name a row has room for. */
  letters = FEWEST;

  /**
   * @param {HTMLElement} host a row group
   * @param {{create: () => HTMLElement, update: (row: HTMLElement, key: string) => void}} kind a row has one
   *   element marked `data-opens`, which is what the keyboard goes to
   */
  constructor(host, kind) {
    this.host = host;
    this.create = kind.create;
    this.update = kind.update;
    addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.#measure()).observe(host);
    host.addEventListener("keydown", (event) => this.#key(event));
    host.addEventListener("focusin", ({ target }) => {
      const row = /** @type {HTMLElement} */ (/** @type {Element} */ (target).closest('[role="row"]'));
      if (row) this.#mark(row.dataset.key);
    });
  }

  /** Shows these, in this order. */
  show(keys) {
    this.#keys = keys;
    this.draw();
  }

  /** Draws the rows in sight. All is measured before anything is written, so that it costs one layout. */
  draw() {
    if (!this.host.getClientRects().length) return;
    if (!this.#height) this.#measure();
    const { top } = this.host.getBoundingClientRect();
    const sight = Math.max(0, Math.floor(-top / this.#height));
    const first = Math.max(0, sight - SPARE);
    const last = Math.min(this.#keys.length, Math.ceil((innerHeight - top) / this.#height) + SPARE);
    this.host.style.height = `${this.#keys.length * this.#height}px`;
    this.host.parentElement.setAttribute("aria-rowcount", String(this.#keys.length + 1));
    const seen = new Set(this.#keys.slice(first, last));
    for (const [key, row] of this.#rows) {
      // What has the focus stays, wherever it is.
      if (seen.has(key) || (row.contains(document.activeElement) && this.#keys.includes(key))) continue;
      row.remove();
      this.#rows.delete(key);
    }
    let place = this.host.firstElementChild;
    for (let at = first; at < last; at += 1) place = this.#place(this.#keys[at], at, place);
    if (!this.#rows.has(this.#current))
      this.#mark(this.#keys[Math.min(this.#keys.length - 1, sight)] ?? null);
  }

  /** Has the row for a key before `place`, in the order of reading; what comes after it. */
  #place(key, at, place) {
    let row = this.#rows.get(key);
    if (!row) {
      row = this.create();
      row.dataset.key = key;
      row.querySelector("[data-opens]").tabIndex = key === this.#current ? 0 : -1;
      this.#rows.set(key, row);
    }
    if (row.at !== at) {
      row.at = at;
      row.style.transform = `translateY(${at * this.#height}px)`;
      row.setAttribute("aria-rowindex", at + 2);
    }
    const focused = row.contains(document.activeElement) && document.activeElement;
    this.update(row, key);
    const after = row === place ? row.nextElementSibling : place;
    if (row !== place) this.host.insertBefore(row, place);
    // Lost to a move, it returns; lost with what had it, it goes to the row.
    if (focused && document.activeElement !== focused)
      (row.contains(focused) ? focused : row.querySelector("[data-opens]")).focus({ preventScroll: true });
    return after;
  }

  #measure() {
    const width = this.host.clientWidth;
    // How many rows there are changes all the time, and what one measures does not.
    if (!width || (width === this.#width && this.#height)) return;
    this.#width = width;
    const { height, letters } = this.#probe();
    if (height === this.#height && letters === this.letters) return;
    this.#height = height;
    this.letters = letters;
    for (const row of this.#rows.values()) row.at = null;
    this.draw();
  }

  #probe() {
    const probe = this.create();
    this.host.append(probe);
    const { height } = probe.getBoundingClientRect();
    const name = /** @type {HTMLElement} */ (probe.querySelector(".who-did"));
    name.textContent = "0".repeat(TRIED);
    name.style.flex = "1";
    const letters = Math.floor((name.getBoundingClientRect().width * TRIED) / name.scrollWidth);
    probe.remove();
    return { height, letters: Math.max(FEWEST, letters) };
  }

  #mark(key) {
    const opener = (name) => this.#rows.get(name)?.querySelector("[data-opens]");
    if (this.#current !== key && opener(this.#current)) opener(this.#current).tabIndex = -1;
    this.#current = key;
    if (opener(key)) opener(key).tabIndex = 0;
  }

  #key(event) {
    const { length } = this.#keys;
    const row = event.target.closest('[role="row"]');
    const at = this.#keys.indexOf(row?.dataset.key);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + PAGE,
      PageUp: at - PAGE,
      Home: 0,
      End: length - 1,
    }[event.key];
    const aside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || (to ?? aside) === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (aside) {
      const stops = [...row.querySelectorAll("a, button")];
      stops[stops.indexOf(event.target) + aside]?.focus({ preventScroll: true });
      return;
    }
    this.focus(this.#keys[Math.max(0, Math.min(length - 1, to))]);
  }

  /** Brings a row into sight and goes to it. */
  focus(key) {
    const at = this.#keys.indexOf(key);
    if (at < 0) return;
    const top = this.host.getBoundingClientRect().top + at * this.#height;
    const margin = this.#height * 2;
    if (top < margin) scrollBy(0, top - margin);
    else if (top + margin > innerHeight) scrollBy(0, top + margin - innerHeight);
    this.draw();
    this.#rows.get(key)?.querySelector("[data-opens]").focus({ preventScroll: true });
  }
}
