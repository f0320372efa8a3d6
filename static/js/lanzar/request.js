// The left side: which operation, its JSON, what is wrong with it, the same with curl.

import "../elements/json-editor.js";
import { h, icon, part } from "../lib/dom.js";
import { position, read } from "../lib/json.js";
import { t } from "../lib/text.js";
import { example, operations, PLACEHOLDER, toCurl, toRequest } from "./operations.js";

/** Fires `launch` when the visitor wants the request sent. */
export class RequestForm extends EventTarget {
  #drafts = new Map();
  #operation = "lease";
  #did = null;

  constructor(root, baseUrl) {
    super();
    this.root = root;
    this.baseUrl = baseUrl;
    this.editor = part(root, "editor");
    this.errors = part(root, "editor-errors");
    this.button = part(root, "launch");
    const apple = /Mac|iPhone|iPad/.test(navigator.platform);
    // Where all stands in one column, the answer comes before the curl command.
    if (matchMedia("(max-width: 60rem)").matches) root.querySelector("details").open = false;
    root.dataset.drawn = "";
    part(root, "shortcut").textContent = apple ? "⌘ ⏎" : "Ctrl ⏎";

    root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.dispatchEvent(new Event("launch"));
    });
    root.addEventListener("change", (event) => {
      if (event.target.name === "operation") this.choose(event.target.value);
    });
    part(root, "reset").addEventListener("click", () => {
      this.#drafts.delete(this.#operation);
      this.editor.value = example(this.#operation, this.#did);
      this.editor.textarea.focus();
    });
    this.editor.addEventListener("change", () => this.#edited());
    this.choose("lease");
  }

  get operation() {
    return this.#operation;
  }

  /** Shows an operation with what was last written for it, else its example about the same resource. */
  choose(name) {
    const resource = read(this.editor.value).value?.resource;
    if (name !== this.#operation) this.#drafts.set(this.#operation, this.editor.value);
    this.#operation = name;
    part(this.root, "operation-words").textContent = operations[name].words;
    this.root.querySelector(`input[value="${name}"]`).checked = true;
    this.editor.value =
      this.#drafts.get(name) ?? example(name, this.#did, typeof resource === "string" && resource);
    this.#edited();
  }

  /** Shows a request that stood elsewhere; whoever it names, the signer takes their place. `note`: what to mind. */
  open(name, members, note) {
    this.choose(name);
    const own = "actorDid" in members ? { ...members, actorDid: this.#did ?? PLACEHOLDER } : members;
    this.editor.value = JSON.stringify(own, null, 2);
    if (note) part(this.root, "operation-words").textContent = note;
    this.editor.textarea.focus({ preventScroll: true });
  }

  /** Signs as `did` from now on: puts it where the JSON still names the placeholder or the agent before. */
  signAs(did) {
    const before = this.#did ?? PLACEHOLDER;
    this.#did = did;
    const replace = (text) => text.replaceAll(JSON.stringify(before), JSON.stringify(did));
    for (const [name, text] of this.#drafts) this.#drafts.set(name, replace(text));
    this.editor.value = replace(this.editor.value);
  }

  /** The key is gone: the JSON names nobody again, and nothing was signed. */
  signAsNobody() {
    part(this.root, "signed-details").hidden = true;
    if (this.#did) this.signAs(PLACEHOLDER);
    this.#did = null;
  }

  /** Names the signer in the JSON, whoever it named. */
  nameSigner() {
    const found = read(this.editor.value);
    const place = found.places.get("/actorDid");
    if (!place || !this.#did) return;
    const text = this.editor.value;
    this.editor.value = text.slice(0, place.from) + JSON.stringify(this.#did) + text.slice(place.to);
  }

  /** The request, {method, path, body?}, if the JSON can be sent; else marks what is wrong, puts the caret there and gives null. */
  take() {
    const text = this.editor.value;
    const { value, fault } = read(text);
    if (fault) {
      this.#mark([{ ...fault, words: this.#faultWords(text, fault) }]);
      this.editor.focusAt(fault.from);
      return null;
    }
    if (value === null || typeof value !== "object" || Array.isArray(value)) {
      this.#mark([{ from: 0, to: text.length, words: t("json_not_object") }]);
      this.editor.focusAt(0);
      return null;
    }
    this.#mark([]);
    return toRequest(this.#operation, text, value);
  }

  /** Marks what the service found wrong: [{pointer, detail}] of a problem. */
  markRefused(errors) {
    const { places } = read(this.editor.value);
    this.#mark(
      errors.map(({ pointer, detail }) => {
        const place = places.get(pointer) ?? places.get("") ?? { from: 0, to: 1 };
        return { ...place, words: `${pointer || "/"}: ${detail}` };
      }),
    );
  }

  /** Shows what was signed and sent: the signature base and the headers. */
  showSigned({ base, headers }) {
    part(this.root, "signed-details").hidden = false;
    this.root.querySelector("#signature-base").textContent = base;
    this.root.querySelector("#sent-headers").textContent = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n");
  }

  /** While busy the button says so but keeps the focus, which a disabled one would lose. */
  busy(busy) {
    this.button.setAttribute("aria-disabled", String(busy));
    this.root.setAttribute("aria-busy", String(busy));
  }

  #edited() {
    const text = this.editor.value;
    const { value, fault } = read(text);
    this.#mark(fault ? [{ ...fault, words: this.#faultWords(text, fault) }] : []);
    const { method, path } = operations[this.#operation];
    const request =
      value && typeof value === "object"
        ? toRequest(this.#operation, text, value)
        : { method, path, body: text };
    part(this.root, "method").textContent = request.method;
    part(this.root, "path").textContent = request.path;
    this.root.querySelector("#curl").textContent = toCurl(this.baseUrl, request);
  }

  #faultWords(text, fault) {
    const where = position(text, fault.from);
    return `${t("json_where", where)} ${t(`json_${fault.code}`)}`;
  }

  #mark(faults) {
    this.editor.setMarks(faults);
    this.errors.replaceChildren(
      ...faults.map(({ words }) => h("li", {}, icon("cross"), h("span", {}, words))),
    );
  }
}
