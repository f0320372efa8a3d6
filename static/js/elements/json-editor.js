// <json-editor><textarea></textarea></json-editor>: a plain textarea with line numbers and marks. When it is used,
// CodeMirror replaces the textarea, if it can be fetched. The page uses only: value, setMarks, focus, focusAt and the
// events `change` and `use`.

import { h } from "../lib/dom.js";

class JsonEditor extends HTMLElement {
  #marks = [];
  #editor = null;
  #used = false;

  connectedCallback() {
    this.textarea = this.querySelector("textarea");
    this.backdrop = h("div", { class: "backdrop", "aria-hidden": "true" });
    this.prepend(this.backdrop);
    this.textarea.addEventListener("pointerdown", () => this.#use());
    // The browser's own `change` comes when the textarea loses the focus, as it does when CodeMirror replaces it.
    this.textarea.addEventListener("change", (event) => event.stopPropagation());
    this.textarea.addEventListener("input", () => {
      this.#use();
      this.#changed();
    });
    this.#draw();
  }

  get value() {
    return this.#editor ? this.#editor.text : this.textarea.value;
  }

  set value(text) {
    if (text === this.value) return;
    if (this.#editor) {
      this.#editor.text = text;
    } else {
      this.textarea.value = text;
      this.#changed();
    }
  }

  /** @param {{from: number, to: number, words: string, hint?: boolean}[]} marks replace the present ones */
  setMarks(marks) {
    this.#marks = [...marks].sort((a, b) => a.from - b.from);
    this.#editor?.setMarks(this.#marks);
    this.textarea.setAttribute("aria-invalid", String(marks.some(({ hint }) => !hint)));
    this.#draw();
  }

  focus(options) {
    if (this.#editor) this.#editor.view.contentDOM.focus(options);
    else this.textarea.focus(options);
  }

  focusAt(offset) {
    if (this.#editor) {
      this.#editor.focusAt(offset);
    } else {
      this.textarea.focus();
      this.textarea.setSelectionRange(offset, offset);
    }
  }

  #changed() {
    this.#marks = [];
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  async #use() {
    if (this.#used) return;
    this.#used = true;
    this.dispatchEvent(new Event("use"));
    let Editor;
    try {
      ({ Editor } = await import("../../dist/editor.js"));
    } catch {
      return; // The textarea stays.
    }
    const { textarea } = this;
    const focused = document.activeElement === textarea;
    const { selectionStart, selectionEnd } = textarea;
    const host = h("div", { class: "editor-host" });
    this.append(host);
    this.#editor = new Editor(host.attachShadow({ mode: "open" }), {
      text: textarea.value,
      label: textarea.getAttribute("aria-label"),
      change: () => this.#changed(),
    });
    this.#editor.setMarks(this.#marks);
    textarea.hidden = true;
    this.backdrop.hidden = true;
    if (focused) this.#editor.focusAt(selectionStart, selectionEnd);
  }

  #draw() {
    if (this.#editor) return;
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
    for (const { from, to, hint } of this.#marks) {
      const begin = Math.max(done, from - start);
      const end = Math.min(line.length, to - start);
      if (begin >= end) continue;
      pieces.push(line.slice(done, begin), h("mark", { class: hint && "is-hint" }, line.slice(begin, end)));
      done = end;
    }
    return [...pieces, line.slice(done)].filter((piece) => piece !== "");
  }
}

customElements.define("json-editor", JsonEditor);
