// The live board of a page: leases and the time left, waiters and their places, deadlocks, the latest events.

import "../elements/short-did.js";
import { serverNow } from "../lib/clock.js";
import { h, icon, keyed, part, swap } from "../lib/dom.js";
import { isStale, shownState } from "../lib/live.js";
import { byResource } from "../lib/picture.js";
import { clockTime, duration, t } from "../lib/text.js";
import { agent, Sections } from "./sections.js";

const RECENT = 6;
const LAMPS = { live: "live", off: "off", paused: "off", ended: "off", removed: "off", missing: "off" };

export class Board {
  #deadlocks = h("div", { class: "deadlocks" });
  #pairs = "";
  #log = h("ol", { class: "log", role: "list" });
  #logPart = h("div", { class: "log-part" }, h("h4", {}, t("board_log")), this.#log);
  #recent = [];
  #seen = 0;
  #empty = h("div", { class: "empty" }, h("p", {}, t("board_empty")));
  #announced = "";

  /**
   * @param {(did: string) => string} nameOf the page's name for an agent, or an empty text
   */
  constructor(root, live, nameOf) {
    this.live = live;
    this.nameOf = nameOf;
    this.sections = new Sections(nameOf);
    this.chip = part(root, "connection");
    this.announcer = part(root, "announcer");
    this.body = part(root, "board-body");
    this.start = [...this.body.childNodes];
    live.addEventListener("state", () => this.#state());
    live.addEventListener("picture", ({ detail }) => this.show(detail.picture, detail.events));
    // Data become old without an event, and must then look old.
    setInterval(() => this.#state(), 1000);
  }

  clear() {
    this.#recent = [];
    this.body.replaceChildren(...this.start);
  }

  show(picture, events) {
    const latest = events.map((event) => ({ ...event, id: String((this.#seen += 1)) }));
    this.#recent = [...latest.reverse(), ...this.#recent].slice(0, RECENT);
    const sections = byResource(picture);
    this.sections.show(sections);
    this.#showDeadlocks(picture.deadlocks);
    keyed(
      this.#log,
      this.#recent,
      ({ id }) => id,
      (event) => this.#entry(event),
      () => {},
    );
    this.#logPart.hidden = !this.#recent.length;
    const shown = [sections.length ? this.sections.element : this.#empty, this.#deadlocks, this.#logPart];
    // Elements that are there already are not inserted again: that would take the focus away from them.
    if (shown.some((element, at) => this.body.childNodes[at] !== element)) this.body.replaceChildren(...shown);
  }

  #state() {
    const state = shownState(this.live);
    const words = t(`live_${state}`, { age: duration(serverNow() - this.live.receivedAt) });
    this.chip.dataset.state = LAMPS[state] ?? "reconnecting";
    if (this.chip.textContent !== words) this.chip.textContent = words;
    this.body.toggleAttribute("data-stale", isStale(state));
    // A screen reader announces a new state, not each second of the age.
    if (state === this.#announced) return;
    this.#announced = state;
    this.announcer.textContent = words;
  }

  #showDeadlocks(pairs) {
    const shown = JSON.stringify(pairs);
    if (shown === this.#pairs) return;
    this.#pairs = shown;
    if (!pairs.length) {
      this.#deadlocks.replaceChildren();
      return;
    }
    swap(
      this.#deadlocks,
      h("h4", {}, icon("cross", "is-stop"), " ", t("deadlocks", { n: pairs.length })),
      h(
        "ul",
        { role: "list" },
        pairs.map(({ agents, resources, at }) =>
          h(
            "li",
            {},
            h("p", {}, agent(this.nameOf, agents[0]), ` ${t("deadlock_asked")} `, h("code", {}, resources[0])),
            h("p", {}, agent(this.nameOf, agents[1]), ` ${t("deadlock_waits")} `, h("code", {}, resources[1])),
            h("p", { class: "quiet" }, t("deadlock_refused", { at: clockTime(at) })),
          ),
        ),
      ),
    );
  }

  #entry(event) {
    const who = this.nameOf(event.actorDid) || event.actorDid;
    return h(
      "li",
      {},
      h("time", { datetime: event.at }, clockTime(event.at)),
      h(
        "span",
        {},
        t(`event_${event.event}`),
        " ",
        h("code", {}, event.resource),
        " · ",
        this.nameOf(event.actorDid) ? who : h("short-did", { value: event.actorDid }),
      ),
    );
  }
}
