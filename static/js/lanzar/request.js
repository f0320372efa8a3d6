// The left side of Lanzar: the operation, its JSON and its faults, what is signed, the same request in other forms.

import "../elements/json-editor.js";
import { utf8 } from "../lib/bytes.js";
import { h, icon, part } from "../lib/dom.js";
import { position, read } from "../lib/json.js";
import { furnish } from "../lib/parts.js";
import { data, number, t } from "../lib/text.js";
import { example, operations, PLACEHOLDER, toRequest } from "./operations.js";
import { Signed } from "./signed.js";
import { Ways } from "./ways.js";

const { bodyLimit } = data("limits");

/** Fires `launch` when the visitor wants the request sent. */
export class RequestForm extends EventTarget {
  #drafts = new Map();
  #operation = "lease";
  #did = null;
  #schema = null;
  #shapes = {};
  #refused = false;

  constructor(root, baseUrl) {
    super();
    this.root = root;
    this.baseUrl = baseUrl;
    this.editor = part(root, "editor");
    this.errors = part(root, "editor-errors");
    this.button = part(root, "launch");
    this.signed = new Signed(root, baseUrl);
    const apple = /Mac|iPhone|iPad/.test(navigator.platform);
    // In one column, the answer comes before the other forms, so they are folded.
    if (matchMedia("(max-width: 60rem)").matches) root.querySelector("details").open = false;
    part(root, "shortcut").textContent = apple ? "⌘ ⏎" : "Ctrl ⏎";
    this.ways = new Ways(root, baseUrl);

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
      this.editor.focus();
    });
    this.editor.addEventListener("change", () => {
      this.#refused = false;
      this.#edited();
    });
    this.editor.addEventListener("use", () => this.#describe());
    this.choose("lease");
  }

  get operation() {
    return this.#operation;
  }

  /** Shows an operation with the visitor's last text for it, or else its example, about the same resource. */
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

  /** Shows a sample of the page's text, with the signer as its agent. `note`: a text to show with it. */
  open(name, members, note) {
    this.choose(name);
    const own = "actorDid" in members ? { ...members, actorDid: this.#did ?? PLACEHOLDER } : members;
    this.editor.value = JSON.stringify(own, null, 2);
    if (note) part(this.root, "operation-words").textContent = note;
    this.editor.focus({ preventScroll: true });
  }

  /** Shows a text from a link or the history, with the signer instead of the placeholder. */
  openText(name, text, note) {
    this.choose(name);
    this.editor.value = text.replaceAll(PLACEHOLDER, this.#did ?? PLACEHOLDER);
    if (note) part(this.root, "operation-words").textContent = note;
  }

  /** Chooses the n-th operation, from 1. */
  chooseNth(number) {
    const name = Object.keys(operations)[number - 1];
    if (!name) return;
    this.choose(name);
    this.root.querySelector(`input[value="${name}"]`).focus();
  }

  /** Signs as `did` from now on, and replaces the placeholder or the signer before it in the JSON. */
  signAs(did) {
    const before = this.#did ?? PLACEHOLDER;
    this.#did = did;
    const replace = (text) => text.replaceAll(JSON.stringify(before), JSON.stringify(did));
    for (const [name, text] of this.#drafts) this.#drafts.set(name, replace(text));
    this.editor.value = replace(this.editor.value);
    // Marks that the service has given stay, unless another agent signs now.
    if (!this.#refused || did !== before) this.#edited();
  }

  /** There is no key any more: the JSON has the placeholder again. */
  forgetSigner() {
    if (this.#did) this.signAs(PLACEHOLDER);
    this.#did = null;
  }

  /** Makes the signer the agent in the JSON. */
  nameSigner() {
    const found = read(this.editor.value);
    const place = found.places.get("/actorDid");
    if (!place || !this.#did) return;
    const text = this.editor.value;
    this.editor.value = text.slice(0, place.from) + JSON.stringify(this.#did) + text.slice(place.to);
  }

  /**
   * The request, {method, path, body?}, if the JSON can be sent. Otherwise marks the faults, puts the caret at the
   * first one and returns null; then `refusal` is a sentence that says why.
   */
  take() {
    const text = this.editor.value;
    const { value, fault } = read(text);
    const marks = fault ? [this.#faultMark(text, fault)] : unsendable(text, value);
    this.#mark(marks);
    this.refusal = marks[0]?.refusal;
    if (!marks.length) return toRequest(this.#operation, text, value);
    part(this.root, "request-tabs").choose(this.root.querySelector("#tab-body"));
    this.editor.focusAt(marks[0].from);
    return null;
  }

  /** Marks the faults that the service found: [{pointer, detail}] of a problem. */
  markRefused(errors) {
    this.#refused = true;
    this.#mark(errors.map(({ pointer, detail }) => this.#markAt(pointer, `${pointer || "/"}: ${detail}`)));
  }

  /** A busy button is marked with ARIA but not disabled, because a disabled button would lose the focus. */
  busy(busy) {
    this.button.setAttribute("aria-disabled", String(busy));
    this.root.setAttribute("aria-busy", String(busy));
  }

  #edited() {
    const text = this.editor.value;
    const { value, fault } = read(text);
    this.#mark(fault ? [this.#faultMark(text, fault)] : [...this.#described(value), ...this.#otherActor(value)]);
    const { method, path } = operations[this.#operation];
    const object = value && typeof value === "object" ? value : undefined;
    /** @type {{method: string, path: string, body?: string}} */
    const request = object ? toRequest(this.#operation, text, value) : { method, path, body: text };
    part(this.root, "method").textContent = request.method;
    part(this.root, "path").textContent = request.path;
    this.signed.preview(request, this.#did ?? PLACEHOLDER);
    this.ways.follow({ ...request, operation: this.#operation, value: object }, PLACEHOLDER);
  }

  /** Called when the editor is first used: fetches the API's description, to check the text against it. */
  async #describe() {
    try {
      [this.#schema] = await Promise.all([import("../lib/schema.js"), furnish("editor")]);
      this.#shapes = Object.fromEntries(
        await Promise.all(
          Object.entries(operations).map(async ([name, operation]) => [name, await this.#schema.shapeOf(operation)]),
        ),
      );
    } catch {
      return; // Without the description, the service finds the faults.
    }
    // Marks that the service has given meanwhile stay.
    if (!this.#refused) this.#edited();
  }

  #described(value) {
    const shape = this.#shapes[this.#operation];
    if (!shape || value === null || typeof value !== "object" || Array.isArray(value)) return [];
    const query = operations[this.#operation].sends === "query";
    return this.#schema
      .faults(shape, value, { query })
      .map(({ pointer, code, values, hint }) => ({ ...this.#markAt(pointer, t(`schema_${code}`, values)), hint }));
  }

  #otherActor(value) {
    const named = value?.actorDid;
    if (typeof named !== "string" || !this.#did || [this.#did, PLACEHOLDER].includes(named)) return [];
    return [{ ...this.#markAt("/actorDid", t("hint_other_actor")), hint: true }];
  }

  #markAt(pointer, words) {
    const { places } = read(this.editor.value);
    const place = places.get(pointer) ?? places.get("") ?? { from: 0, to: 1 };
    // A missing member has no place: the first brace of the object is marked.
    return pointer ? { ...place, words } : { from: place.from, to: place.from + 1, words };
  }

  #faultMark(text, fault) {
    const words = `${t("json_where", position(text, fault.from))} ${t(`json_${fault.code}`)}`;
    return { ...fault, words, refusal: t("json_wrong") };
  }

  #mark(faults) {
    this.editor.setMarks(faults);
    this.errors.replaceChildren(
      ...faults.map(({ words, hint }) =>
        h("li", { class: hint && "is-hint" }, icon(hint ? "pending" : "cross"), h("span", {}, words)),
      ),
    );
  }
}

function unsendable(text, value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return [{ from: 0, to: text.length, words: t("json_not_object"), refusal: t("json_wrong") }];
  }
  const size = utf8(text).length;
  if (size <= bodyLimit) return [];
  const words = t("json_too_large", { size: number(size), most: number(bodyLimit) });
  return [{ from: 0, to: 1, words, refusal: words }];
}
