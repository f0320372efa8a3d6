// What is shown lives in the address: ?vista= &q= &filtro= &orden= &recurso=. So it can be sent, and gone
// back to.

const DEFAULTS = { vista: "recursos", q: "", filtro: "", orden: "", recurso: "" };
const VIEWS = ["recursos", "agentes", "interbloqueos", "cronologia"];
const MOST = 256;

/** Fires `change` when what is shown has become another. */
export class Address extends EventTarget {
  vista = DEFAULTS.vista;
  q = "";
  filtro = "";
  orden = "";
  recurso = "";

  constructor() {
    super();
    this.#read();
    addEventListener("popstate", () => {
      this.#read();
      this.dispatchEvent(new Event("change"));
    });
  }

  /** @param {object} changes @param {{push?: boolean}} how `push`: a step that the back button undoes */
  set(changes, { push = false } = {}) {
    const before = this.search();
    Object.assign(this, changes);
    const search = this.search();
    if (search === before) return;
    history[push ? "pushState" : "replaceState"](null, "", search || location.pathname);
    this.dispatchEvent(new Event("change"));
  }

  /** The query for what is shown, with changes; empty when everything is as it is without one. */
  search(changes = {}) {
    const query = new URLSearchParams();
    const shown = { ...this, ...changes };
    for (const name of Object.keys(DEFAULTS)) {
      if (shown[name] && shown[name] !== DEFAULTS[name]) query.set(name, shown[name]);
    }
    const text = query.toString();
    return text && `?${text}`;
  }

  #read() {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(DEFAULTS))
      this[name] = (query.get(name) ?? value).slice(0, MOST);
    if (!VIEWS.includes(this.vista)) this.vista = DEFAULTS.vista;
  }
}
