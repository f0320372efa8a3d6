// What every page has: the theme switch, copy buttons, the language links and the account menu.

import { copied, h, icon } from "../lib/dom.js";

const THEMES = ["auto", "light", "dark"];

/** <theme-switch><button>: goes through the three themes. The stylesheet shows the name of the current one. */
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
      // Without storage, the choice lasts as long as the page.
    }
  }
}

/** <copy-button data-label data-done [data-copy]>: copies data-copy, or else the code beside it. */
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
      // If the page may not copy, the text is selected, for Ctrl+C.
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

// The page in the other language opens at the same section.
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[hreflang]"))) {
  link.addEventListener("click", () => (link.hash = location.hash));
}

customElements.define("theme-switch", ThemeSwitch);
customElements.define("copy-button", CopyButton);

// The account menu closes with Escape, and when the pointer or the focus goes elsewhere.
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
