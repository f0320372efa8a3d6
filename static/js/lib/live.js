// The live picture of a workspace: a snapshot, then events with rising numbers. A gap asks for a new snapshot;
// a lost socket is opened again, later each time. Relayed facts only: nothing is decided here.

import { learn, serverNow } from "./clock.js";
import { apply, fromSnapshot } from "./picture.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 20_000;
// The server speaks every five seconds even when nothing happens.
const SILENCE_MS = 16_000;
// 4000 and the status of the problem that closed the socket.
const FORBIDDEN = 4403;
const TOO_MANY = 4429;
const SLOW_RETRIES = 4;

/**
 * Fires `picture` (detail: {picture, events}) and `state`; `state` is off, connecting, live, delayed or
 * reconnecting.
 */
export class Live extends EventTarget {
  state = "off";
  picture = null;
  heardAt = 0;
  #socket = null;
  #seq = null;
  #tries = 0;
  #timer = null;
  #wanted = false;
  #silence = null;

  /**
   * @param {string} path of the socket, on this host
   * @param {() => Promise<string>} ticket fetches a ticket that is good once
   */
  constructor(path, ticket) {
    super();
    this.path = path;
    this.ticket = ticket;
    // Nobody looks at a hidden tab: let go of the socket, and ask anew when it is seen again.
    document.addEventListener("visibilitychange", () => {
      if (!this.#wanted) return;
      if (document.hidden) this.#timer = setTimeout(() => document.hidden && this.#drop("off"), 60_000);
      else if (!this.#socket) this.#open();
    });
  }

  start() {
    if (this.#wanted) return;
    this.#wanted = true;
    this.#open();
  }

  stop() {
    this.#wanted = false;
    this.#drop("off");
    this.picture = null;
  }

  #drop(state) {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#say(state);
  }

  async #open() {
    clearTimeout(this.#timer);
    this.#say(this.picture ? "reconnecting" : "connecting");
    let ticket;
    try {
      ticket = await this.ticket();
    } catch (error) {
      if (error.answer && error.answer.status < 500 && error.answer.status !== 429) this.#drop("off");
      else this.#later();
      return;
    }
    if (!this.#wanted) return;
    const url = new URL(this.path, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    // The ticket travels as a subprotocol: an address would end up in logs.
    const socket = new WebSocket(url, ["intramedial", `ticket.${ticket}`]);
    this.#socket = socket;
    this.#seq = null;
    socket.onmessage = (event) => socket === this.#socket && this.#heard(JSON.parse(event.data));
    socket.onclose = ({ code }) => {
      if (socket !== this.#socket) return;
      this.#socket = null;
      if (code === FORBIDDEN) this.#drop("off");
      else if (this.#wanted) this.#later(code === TOO_MANY ? SLOW_RETRIES : 0);
    };
  }

  #later(tries = 0) {
    this.#say(this.picture ? "reconnecting" : "connecting");
    this.#tries = Math.max(this.#tries, tries);
    const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#tries);
    this.#tries += 1;
    this.#timer = setTimeout(() => this.#open(), longest * (0.5 + Math.random() / 2));
  }

  #heard(message) {
    learn(message.serverTime);
    this.heardAt = serverNow();
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#socket?.close(), SILENCE_MS);
    if (message.type === "snapshot") {
      this.#seq = message.seq;
      this.#tries = 0;
      this.picture = fromSnapshot(message);
      this.#say(message.delayed ? "delayed" : "live");
      this.#show([]);
    } else if (message.type === "events" && this.#seq !== null) {
      if (message.seq <= this.#seq) return;
      if (message.seq !== this.#seq + 1) {
        this.#seq = null;
        this.#socket.send(JSON.stringify({ type: "resync" }));
        return;
      }
      this.#seq = message.seq;
      if (this.state === "delayed") this.#say("live");
      for (const event of message.events) apply(this.picture, event);
      // No event says that a deadlock has ended: the list comes whole when it has changed.
      if (message.deadlocks) this.picture.deadlocks = message.deadlocks;
      this.#show(message.events);
    }
  }

  #say(state) {
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  #show(events) {
    this.dispatchEvent(new CustomEvent("picture", { detail: { picture: this.picture, events } }));
  }
}
