// The live picture of a workspace: a snapshot, then events with rising numbers. After a gap it asks for a new snapshot;
// a lost socket is opened again, after a longer pause each time. It only shows events: it decides nothing.

import { learn, serverNow } from "./clock.js";
import { Picture } from "./picture.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 20_000;
// The server sends a message every five seconds even when nothing happens.
const SILENCE_MS = 16_000;
const OLD_MS = 6500;
// A hidden tab keeps its socket for a while: the person may come back at once.
const HIDDEN_MS = 60_000;
// A lease that should have expired, without an event for it: the process that should have published it may have died.
const OVERDUE_MS = 3000;
const LOOK_MS = 2000;
const LOST = 1006;
const TOO_MANY = 4429;
const SLOW_RETRIES = 5;
// Close codes after which it does not try again: 4000 plus the status of the problem.
const FINAL = { 4401: "ended", 4403: "removed", 4404: "missing" };

/** The state to show: `old` when the socket is open and no message has come for too long. */
export const shownState = ({ state, receivedAt }) =>
  state === "live" && serverNow() - receivedAt > OLD_MS ? "old" : state;

/** Whether the live picture has ended for good. */
export const isOver = (state) => Object.values(FINAL).includes(state);

/** Whether what is shown may be out of date. */
export const isStale = (shown) => !["live", "connecting", "off"].includes(shown);

/**
 * Fires `picture` (detail: {picture, events, fresh}; `fresh`: a snapshot) and `state`. `state` is off, connecting,
 * live, delayed, reconnecting, paused (hidden for long), or, for good: ended (the session is over), removed (the
 * person is no longer a member), missing (no such workspace).
 */
export class Live extends EventTarget {
  state = "off";
  picture = null;
  receivedAt = 0;
  #socket = null;
  #seq = null;
  #tries = 0;
  #attempt = 0;
  #retry = null;
  #hidden = null;
  #wanted = false;
  #silence = null;
  #look = null;

  /**
   * @param {string} path of the socket, on this host
   * @param {(() => Promise<string>) | null} ticket fetches a ticket, which opens one socket; null: the
   *   session authenticates
   */
  constructor(path, ticket = null) {
    super();
    this.path = path;
    this.ticket = ticket;
    // A tab that stays hidden closes its socket and opens a new one when it is visible again.
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hidden);
      // If the session had ended, the person may have logged in in another tab.
      if (!document.hidden && this.state === "ended") this.start();
      if (!this.#wanted) return;
      if (document.hidden) this.#hidden = setTimeout(() => this.#drop("paused"), HIDDEN_MS);
      else if (!this.#socket) this.#open();
    });
  }

  /** The instant until which events are known. */
  get knownUntil() {
    return this.state === "live" ? serverNow() : this.receivedAt;
  }

  start() {
    if (this.#wanted) return;
    this.#wanted = true;
    this.#look = setInterval(() => this.#lookForOverdue(), LOOK_MS);
    this.#open();
  }

  stop() {
    this.#end("off");
    this.picture = null;
  }

  /** Ends the live picture because the answer to another request requires it: `state` is the reason. */
  over(state) {
    if (this.#wanted) this.#end(state);
  }

  #end(state) {
    this.#wanted = false;
    clearInterval(this.#look);
    this.#drop(state);
  }

  #drop(state) {
    this.#attempt += 1;
    clearTimeout(this.#retry);
    clearTimeout(this.#hidden);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#setState(state);
  }

  /** Only the latest attempt opens a socket, so that hiding and showing the tab does not open two. */
  async #open() {
    clearTimeout(this.#retry);
    const attempt = (this.#attempt += 1);
    this.#setState(this.picture ? "reconnecting" : "connecting");
    const protocols = ["intramedial"];
    // The ticket is sent as a subprotocol, because an address would be in logs.
    if (this.ticket) {
      try {
        protocols.push(`ticket.${await this.ticket()}`);
      } catch (error) {
        if (attempt !== this.#attempt) return;
        if (error.answer && error.answer.status < 500 && error.answer.status !== 429) this.#drop("off");
        else this.#later();
        return;
      }
    }
    if (attempt !== this.#attempt) return;
    const url = new URL(this.path, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url, protocols);
    this.#socket = socket;
    this.#seq = null;
    socket.onmessage = (event) => socket === this.#socket && this.#received(JSON.parse(event.data));
    socket.onclose = ({ code }) => socket === this.#socket && this.#closed(code);
    this.#expectMessage(socket);
  }

  /** Treats a silent socket as lost: after a network failure a browser takes a minute to report it. */
  #expectMessage(socket) {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      socket.close();
      this.#closed(LOST);
    }, SILENCE_MS);
  }

  #closed(code) {
    this.#socket = null;
    clearTimeout(this.#silence);
    if (!this.#wanted) return;
    // With a ticket, a refusal is not final: the next ticket may be accepted.
    const final = this.ticket ? code === 4403 && "off" : FINAL[code];
    if (final) this.#end(final);
    else this.#later(code === TOO_MANY ? SLOW_RETRIES : 0);
  }

  #later(tries = 0) {
    this.#setState(this.picture ? "reconnecting" : "connecting");
    this.#tries = Math.max(this.#tries, tries);
    const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#tries);
    this.#tries += 1;
    this.#retry = setTimeout(() => this.#open(), longest * (0.5 + Math.random() / 2));
  }

  #received(message) {
    learn(message.serverTime);
    this.receivedAt = serverNow();
    this.#expectMessage(this.#socket);
    if (message.type === "snapshot") {
      this.#seq = message.seq;
      this.#tries = 0;
      this.picture = new Picture(message);
      this.#setState(message.delayed ? "delayed" : "live");
      this.#show([], true);
    } else if (message.type === "events" && this.#seq !== null) {
      if (message.seq <= this.#seq) return;
      if (message.seq !== this.#seq + 1) {
        this.#seq = null;
        this.#resync();
        return;
      }
      this.#seq = message.seq;
      if (this.state === "delayed") this.#setState("live");
      this.picture.receive(message);
      this.#show(message.events, false);
    }
  }

  #resync() {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type: "resync" }));
  }

  #lookForOverdue() {
    if (this.state !== "live" || this.#seq === null || document.hidden) return;
    if (this.picture.overdue(new Date(serverNow() - OVERDUE_MS).toISOString())) this.#resync();
  }

  #setState(state) {
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  #show(events, fresh) {
    this.dispatchEvent(new CustomEvent("picture", { detail: { picture: this.picture, events, fresh } }));
  }
}
