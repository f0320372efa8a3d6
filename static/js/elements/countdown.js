// <count-down until="RFC 3339" [total="ms"]>: the time left, by the server's clock. With `total` it also sets --left
// (0 … 1) on the closest [data-drains], for the stylesheet to draw. Where data are old it shows "–" after the end,
// because the lease may have been renewed.

import { serverNow } from "../lib/clock.js";
import { duration, number } from "../lib/text.js";

const running = new Set();
let timer = null;

function tick() {
  for (const element of running) element.tick();
}

class CountDown extends HTMLElement {
  static observedAttributes = ["until"];

  connectedCallback() {
    this.setAttribute("role", "timer");
    running.add(this);
    timer ??= setInterval(tick, 100);
    this.tick();
  }

  disconnectedCallback() {
    running.delete(this);
    if (running.size > 0) return;
    clearInterval(timer);
    timer = null;
  }

  attributeChangedCallback() {
    if (this.isConnected) this.tick();
  }

  tick() {
    const left = Math.max(0, Date.parse(this.getAttribute("until")) - serverNow());
    const unknown = !left && this.closest("[data-stale], [data-stale-data]");
    const text = unknown ? "–" : left < 60_000 ? `${number(left / 1000, 1)} s` : duration(left);
    if (text !== this.textContent) this.textContent = text;
    const total = Number(this.getAttribute("total"));
    if (total)
      /** @type {HTMLElement} */ (this.closest("[data-drains]"))?.style.setProperty("--left", Math.min(1, left / total).toFixed(3));
  }
}

customElements.define("count-down", CountDown);
