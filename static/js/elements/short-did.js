// <short-did value="did:…" [brief]>: a DID shortened in the middle; `brief`: its last letters only, for use
// beside a name. The tooltip has the whole DID, and a click copies it.

import { h } from "../lib/dom.js";
import { shorten, t } from "../lib/text.js";

class ShortDid extends HTMLElement {
  static observedAttributes = ["value"];

  connectedCallback() {
    this.#render();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#render();
  }

  #render() {
    const did = this.getAttribute("value");
    const bare = did.replace(/^did:(key|web):/, "");
    // A key has random letters, so few of them are enough; another DID contains a name, of which more is shown.
    const whole = did.startsWith("did:key:") ? shorten(bare, 6, 5) : shorten(bare, 14, 10);
    const short = this.hasAttribute("brief") ? `…${bare.slice(-5)}` : whole;
    const button = h("button", { type: "button", title: `${did}\n${t("copy")}` }, short);
    button.addEventListener("click", async () => {
      await navigator.clipboard?.writeText(did);
      button.textContent = t("copied");
      setTimeout(() => (button.textContent = short), 1200);
    });
    this.replaceChildren(button);
  }
}

customElements.define("short-did", ShortDid);
