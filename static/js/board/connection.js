// The board's connection: shows its state in a chip, announces a change of it to screen readers, and gives the age of
// old data. Also the requests that the board sends besides its socket.

import { serverNow } from "../lib/clock.js";
import { part, put } from "../lib/dom.js";
import { isStale, shownState } from "../lib/live.js";
import { seconds, t } from "../lib/text.js";

/** @type {RequestInit} */
const HOW = { redirect: "manual", cache: "no-store" };
/** A page that was just opened does not show that it is connecting. */
const PATIENCE_MS = 3000;
const LAMPS = { live: "live", off: "off", paused: "off", ended: "off", removed: "off", missing: "off" };

export class Connection {
  #announced = "";

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

  /** live, connecting, reconnecting, delayed, old, paused, or the final reason: ended, removed, missing. */
  get state() {
    const { state } = this.live;
    if (document.hidden && ["live", "delayed", "reconnecting"].includes(state)) return "paused";
    return shownState(this.live);
  }

  draw() {
    const { state } = this;
    const age = seconds(serverNow() - this.live.receivedAt);
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
    if (state === this.#announced) return;
    this.#announced = state;
    put(this.announcer, t(`live_${state}`, { age }));
  }
}

/**
 * Makes `ask(path, query)`, which returns a successful answer or throws. When the session has ended or the workspace
 * is no longer the person's, it ends the live picture with that reason, which the whole board shows.
 * @param {import("../lib/live.js").Live} live @param {string} members an address that every member may read
 */
export const makeAsk = (live, members) => async (path, query) => {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`, HOW);
  // The server redirects only to the log-in.
  if (answer.type === "opaqueredirect") live.over("ended");
  else if (answer.status === 404 && (await fetch(members, HOW)).status === 404) live.over("missing");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer;
};
