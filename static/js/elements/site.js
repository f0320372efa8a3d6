// Behaviour that every page has: the theme switch and the copy buttons.

import { copied, h, icon } from "../lib/dom.js";

const THEMES = ["auto", "light", "dark"];

/** <theme-switch><button>: goes round the three. Which of its words show is the stylesheet's affair. */
class ThemeSwitch extends HTMLElement {
  connectedCallback() {
    this.querySelector("button").addEventListener("click", () => this.#next());
  }

  #next() {
    const root = document.documentElement;
    const theme = THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      if (theme === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      // Good for this page at least.
    }
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
      const code = this.parentElement.querySelector("pre");
      // What the page may not copy is chosen at least, for Ctrl+C.
      if (!(await copied(this.dataset.copy ?? code.textContent))) return code && getSelection().selectAllChildren(code);
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
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[hreflang]"))) {
  link.addEventListener("click", () => (link.hash = location.hash));
}

customElements.define("theme-switch", ThemeSwitch);
customElements.define("copy-button", CopyButton);

// A menu that opens over the page closes again: with Escape, or when one goes elsewhere.
const menu = /** @type {HTMLDetailsElement | null} */ (document.querySelector(".account-menu"));
menu?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu.open) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
for (const kind of ["click", "focusin"]) {
  document.addEventListener(kind, (event) => {
    if (menu?.open && !menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
}
