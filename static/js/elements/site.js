// Behaviour that every page has: the theme switch and the copy buttons.

import { h, icon } from "../lib/dom.js";

const THEMES = ["auto", "light", "dark"];

/** <theme-switch data-auto data-light data-dark>: one button that goes round the three. */
class ThemeSwitch extends HTMLElement {
  connectedCallback() {
    this.words = h("span");
    this.replaceChildren(
      h("button", { type: "button", onclick: () => this.#next() }, icon("theme"), this.words),
    );
    this.#show();
  }

  get theme() {
    return document.documentElement.dataset.theme ?? "auto";
  }

  #next() {
    const theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      // Good for this page at least.
    }
    this.#show();
  }

  #show() {
    this.words.textContent = this.dataset[this.theme];
  }
}

/** <copy-button data-label data-done [data-copy]>: copies data-copy, or the text of the code beside it. */
class CopyButton extends HTMLElement {
  connectedCallback() {
    const { label, done } = this.dataset;
    this.button = h(
      "button",
      { type: "button", class: "icon-button", title: label, "aria-label": label },
      icon("copy"),
    );
    this.button.addEventListener("click", async () => {
      const text = this.dataset.copy ?? this.parentElement.querySelector("pre").textContent;
      await navigator.clipboard?.writeText(text);
      this.#show("done", done);
      setTimeout(() => this.#show("copy", label), 1500);
    });
    this.replaceChildren(this.button);
  }

  #show(name, words) {
    this.button.replaceChildren(icon(name));
    this.button.classList.toggle("is-done", name === "done");
    this.button.setAttribute("aria-label", words);
  }
}

// The other language's page opens at the same place of it.
for (const link of document.querySelectorAll("a[hreflang]")) {
  link.addEventListener("click", () => (link.hash = location.hash));
}

customElements.define("theme-switch", ThemeSwitch);
customElements.define("copy-button", CopyButton);
