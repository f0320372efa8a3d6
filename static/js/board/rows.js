// A long list of which only the visible rows exist. All rows have one height (`--row` of the stylesheet); the list
// scrolls with the page. One row is in the tab order. Up, Down, Page Up, Page Down, Home and End go to other rows;
// Left and Right go to the links and buttons of a row.

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
  /** How many letters of an agent's DID fit into a row. */
  letters = FEWEST;

  /**
   * @param {HTMLElement} host a row group
   * @param {{create: () => HTMLElement, update: (row: HTMLElement, key: string) => void}} kind a row has one
   *   element marked `data-opens`, which gets the focus
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

  /** Shows the rows of these keys, in this order. */
  show(keys) {
    this.#keys = keys;
    this.draw();
  }

  /** Draws the visible rows. It measures everything before it writes anything, so that it costs one layout. */
  draw() {
    if (!this.host.getClientRects().length) return;
    if (!this.#height) this.#measure();
    const { top } = this.host.getBoundingClientRect();
    const topRow = Math.max(0, Math.floor(-top / this.#height));
    const first = Math.max(0, topRow - SPARE);
    const last = Math.min(this.#keys.length, Math.ceil((innerHeight - top) / this.#height) + SPARE);
    this.host.style.height = `${this.#keys.length * this.#height}px`;
    this.host.parentElement.setAttribute("aria-rowcount", String(this.#keys.length + 1));
    const seen = new Set(this.#keys.slice(first, last));
    for (const [key, row] of this.#rows) {
      // The row with the focus stays, visible or not.
      if (seen.has(key) || (row.contains(document.activeElement) && this.#keys.includes(key))) continue;
      row.remove();
      this.#rows.delete(key);
    }
    let place = this.host.firstElementChild;
    for (let at = first; at < last; at += 1) place = this.#place(this.#keys[at], at, place);
    if (!this.#rows.has(this.#current))
      this.#mark(this.#keys[Math.min(this.#keys.length - 1, topRow)] ?? null);
  }

  /** Puts the row of a key before `place`, so that the DOM is in reading order; returns the element after the row. */
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
    // A focus that moving the row took away is restored; if its element was replaced, the row gets the focus.
    if (focused && document.activeElement !== focused)
      (row.contains(focused) ? focused : row.querySelector("[data-opens]")).focus({ preventScroll: true });
    return after;
  }

  #measure() {
    const width = this.host.clientWidth;
    // The list's height changes all the time. Only a new width can change the measures of a row.
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

  /** Scrolls a row into view and focuses it. */
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
