// <copy-page data-from data-label data-done data-failed>: fetches a text and copies it.

import { h, icon } from "../lib/dom.js";

class CopyPage extends HTMLElement {
  connectedCallback() {
    this.words = h("span");
    this.button = h(
      "button",
      { type: "button", class: "link-button", onclick: () => this.#copy() },
      this.words,
    );
    this.status = h("span", { class: "visually-hidden", role: "status" });
    this.replaceChildren(icon("copy"), " ", this.button, this.status);
    this.words.textContent = this.dataset.label;
  }

  async #copy() {
    try {
      const answer = await fetch(this.dataset.from);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      await navigator.clipboard.writeText(await answer.text());
      this.#show(this.dataset.done);
    } catch {
      this.#show(this.dataset.failed);
    }
  }

  #show(words) {
    this.words.textContent = words;
    this.status.textContent = words;
    setTimeout(() => {
      this.words.textContent = this.dataset.label;
      this.status.textContent = "";
    }, 2500);
  }
}

customElements.define("copy-page", CopyPage);
