// The live picture of a workspace: a snapshot, then events with rising numbers. A gap asks for a new snapshot;
// a lost socket is opened again, later each time. Relayed facts only: nothing is decided here.

import { learn, serverNow } from "./clock.js";
import { Picture } from "./picture.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 20_000;
// The server speaks every five seconds even when nothing happens.
const SILENCE_MS = 16_000;
const OLD_MS = 6500;
// A hidden tab keeps its socket for as long as somebody may come back at once.
const HIDDEN_MS = 60_000;
// A lease that is over and of whose end nothing was heard: what was to tell of it may have died.
const OVERDUE_MS = 3000;
const LOOK_MS = 2000;
const LOST = 1006;
const TOO_MANY = 4429;
const SLOW_RETRIES = 5;
// Codes after which asking again is of no use: 4000 and the status of the problem.
const FINAL = { 4401: "ended", 4403: "removed", 4404: "missing" };

/** The state that is to be shown: `old` when a socket is open, and nothing has come for longer than it should. */
export const shownState = ({ state, heardAt }) =>
  state === "live" && serverNow() - heardAt > OLD_MS ? "old" : state;

/** Whether it is over for good. */
export const isOver = (state) => Object.values(FINAL).includes(state);

/** Whether what is shown may be other than what is. */
export const isStale = (shown) => !["live", "connecting", "off"].includes(shown);

/**
 * Fires `picture` (detail: {picture, events, fresh}; `fresh`: a snapshot) and `state`. `state` is off, connecting,
 * live, delayed, reconnecting, paused (hidden for long), or for good: ended (no session any more), removed (no member
 * any more), missing (no such workspace).
 */
export class Live extends EventTarget {
  state = "off";
  picture = null;
  heardAt = 0;
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
   * @param {(() => Promise<string>) | null} ticket fetches a ticket that is good once; null: the session will do
   */
  constructor(path, ticket = null) {
    super();
    this.path = path;
    this.ticket = ticket;
    // Nobody looks at a hidden tab: let go of the socket, and ask anew when it is seen again.
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hidden);
      // Whoever comes back to a board whose session had ended may have logged in elsewhere.
      if (!document.hidden && this.state === "ended") this.start();
      if (!this.#wanted) return;
      if (document.hidden) this.#hidden = setTimeout(() => this.#drop("paused"), HIDDEN_MS);
      else if (!this.#socket) this.#open();
    });
  }

  /** Until when what has happened is known. */
  get knownUntil() {
    return this.state === "live" ? serverNow() : this.heardAt;
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

  /** Nobody is to watch any more, as another request has learnt: `state` says why. */
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
    this.#say(state);
  }

  /** Only the latest attempt comes to a socket: whoever looks away and back does not get two. */
  async #open() {
    clearTimeout(this.#retry);
    const attempt = (this.#attempt += 1);
    this.#say(this.picture ? "reconnecting" : "connecting");
    const protocols = ["intramedial"];
    // The ticket travels as a subprotocol: an address would end up in logs.
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
    socket.onmessage = (event) => socket === this.#socket && this.#heard(JSON.parse(event.data));
    socket.onclose = ({ code }) => socket === this.#socket && this.#closed(code);
    this.#expectWords(socket);
  }

  /** Takes a socket that stays silent for lost: a browser waits a minute for a network that is gone to say so. */
  #expectWords(socket) {
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
    // A ticket that was used up is no reason to give up: the next one may be good.
    const final = this.ticket ? code === 4403 && "off" : FINAL[code];
    if (final) this.#end(final);
    else this.#later(code === TOO_MANY ? SLOW_RETRIES : 0);
  }

  #later(tries = 0) {
    this.#say(this.picture ? "reconnecting" : "connecting");
    this.#tries = Math.max(this.#tries, tries);
    const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#tries);
    this.#tries += 1;
    this.#retry = setTimeout(() => this.#open(), longest * (0.5 + Math.random() / 2));
  }

  #heard(message) {
    learn(message.serverTime);
    this.heardAt = serverNow();
    this.#expectWords(this.#socket);
    if (message.type === "snapshot") {
      this.#seq = message.seq;
      this.#tries = 0;
      this.picture = new Picture(message);
      this.#say(message.delayed ? "delayed" : "live");
      this.#show([], true);
    } else if (message.type === "events" && this.#seq !== null) {
      if (message.seq <= this.#seq) return;
      if (message.seq !== this.#seq + 1) {
        this.#seq = null;
        this.#resync();
        return;
      }
      this.#seq = message.seq;
      if (this.state === "delayed") this.#say("live");
      this.picture.hear(message);
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

  #say(state) {
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  #show(events, fresh) {
    this.dispatchEvent(new CustomEvent("picture", { detail: { picture: this.picture, events, fresh } }));
  }
}
