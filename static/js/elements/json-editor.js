// <json-editor><textarea></textarea></json-editor>: line numbers and marks under a plain textarea. Its interface is
// all that the page knows, so that another editor can stand in its place: value, setMarks, focusAt, event `change`.

import { h } from "../lib/dom.js";

class JsonEditor extends HTMLElement {
  #marks = [];

  connectedCallback() {
    this.textarea = this.querySelector("textarea");
    this.backdrop = h("div", { class: "backdrop", "aria-hidden": "true" });
    this.prepend(this.backdrop);
    this.textarea.addEventListener("input", () => {
      this.#marks = [];
      this.#draw();
      this.dispatchEvent(new Event("change"));
    });
    this.#draw();
  }

  get value() {
    return this.textarea.value;
  }

  set value(text) {
    if (text === this.textarea.value) return;
    this.textarea.value = text;
    this.#marks = [];
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  /** @param {{from: number, to: number}[]} marks places that are wrong; replaces those shown */
  setMarks(marks) {
    this.#marks = [...marks].sort((a, b) => a.from - b.from);
    this.textarea.setAttribute("aria-invalid", String(marks.length > 0));
    this.#draw();
  }

  focusAt(offset) {
    this.textarea.focus();
    this.textarea.setSelectionRange(offset, offset);
  }

  #draw() {
    let start = 0;
    const lines = this.textarea.value.split("\n").map((line) => {
      const children = this.#marked(line, start);
      start += line.length + 1;
      const wrong = children.some((child) => typeof child !== "string");
      return h("span", { class: wrong ? "line is-wrong" : "line" }, children);
    });
    this.backdrop.replaceChildren(...lines);
  }

  #marked(line, start) {
    const pieces = [];
    let done = 0;
    for (const { from, to } of this.#marks) {
      const begin = Math.max(done, from - start);
      const end = Math.min(line.length, to - start);
      if (begin >= end) continue;
      pieces.push(line.slice(done, begin), h("mark", {}, line.slice(begin, end)));
      done = end;
    }
    return [...pieces, line.slice(done)].filter((piece) => piece !== "");
  }
}

customElements.define("json-editor", JsonEditor);
