// The page's address holds what is shown: ?vista= &q= &filtro= &orden= &recurso=. So a view can be sent as a link,
// and the back button works.

const DEFAULTS = { vista: "recursos", q: "", filtro: "", orden: "", recurso: "" };
const VIEWS = ["recursos", "agentes", "interbloqueos", "cronologia"];
const LONGEST = 256;

/** Fires `change` when what is shown changes. */
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

  /** @param {object} changes @param {{push?: boolean}} how `push`: the back button undoes the step */
  set(changes, { push = false } = {}) {
    const before = this.search();
    Object.assign(this, changes);
    const search = this.search();
    if (search === before) return;
    history[push ? "pushState" : "replaceState"](null, "", search || location.pathname);
    this.dispatchEvent(new Event("change"));
  }

  /** The query for what is shown, with `changes`; empty when everything has its default. */
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
      this[name] = (query.get(name) ?? value).slice(0, LONGEST);
    if (!VIEWS.includes(this.vista)) this.vista = DEFAULTS.vista;
  }
}
