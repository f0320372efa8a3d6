// How the board is connected, in a chip and, when that changes, for those who listen. Old data say how old
// they are.

import { serverNow } from "../lib/clock.js";
import { part } from "../lib/dom.js";
import { isStale, shownState } from "../lib/live.js";
import { t } from "../lib/text.js";
import { put, seconds } from "./words.js";

/** Nobody needs to be told that a page that was just opened connects. */
const PATIENCE_MS = 3000;
const LAMPS = { live: "live", off: "off", paused: "off", ended: "off", removed: "off", missing: "off" };

export class Connection {
  #said = "";

  /** @param {HTMLElement} root the page's own part @param {import("../lib/live.js").Live} live */
  constructor(root, live) {
    this.root = root;
    this.live = live;
    this.chip = part(root, "connection");
    this.announcer = part(root, "announcer");
    this.inDrawer = part(root, "drawer-connection");
    live.addEventListener("state", () => this.draw());
    document.addEventListener("visibilitychange", () => this.draw());
  }

  /** live, connecting, reconnecting, delayed, old, paused, or why it is over: ended, removed, missing. */
  get state() {
    const { state } = this.live;
    if (document.hidden && ["live", "delayed", "reconnecting"].includes(state)) return "paused";
    return shownState(this.live);
  }

  draw() {
    const { state } = this;
    const age = seconds(serverNow() - this.live.heardAt);
    this.chip.dataset.state = LAMPS[state] ?? "reconnecting";
    put(this.chip, t(`live_${state}`, { age }));
    const stale = isStale(state);
    this.root.toggleAttribute("data-stale-data", stale && Boolean(this.live.picture));
    this.inDrawer.hidden = !stale;
    this.inDrawer.dataset.state = this.chip.dataset.state;
    put(this.inDrawer, this.chip.textContent);
    const patient = state === "connecting" && performance.now() < PATIENCE_MS;
    for (const over of /** @type {NodeListOf<HTMLElement>} */ (this.root.querySelectorAll("[data-over]"))) {
      over.hidden = patient || over.dataset.over !== state;
    }
    if (state === this.#said) return;
    this.#said = state;
    put(this.announcer, t(`live_${state}`, { age }));
  }
}
