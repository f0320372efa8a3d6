// The board: who holds what and until when, who waits and at which place, which requests would close a cycle.

import "../elements/countdown.js";
import "../elements/short-did.js";
import { serverNow } from "../lib/clock.js";
import { h, icon, keyed, part } from "../lib/dom.js";
import { byResource } from "../lib/picture.js";
import { clockTime, data, duration, number, t } from "../lib/text.js";

const limits = data("limits");
const RECENT = 6;

export class Board {
  #resources = h("ol", { class: "sections", role: "list" });
  #deadlocks = h("div", { class: "deadlocks" });
  #log = h("ol", { class: "log", role: "list" });
  #recent = [];
  #empty = null;

  /**
   * @param {(did: string) => string} nameOf the visitor's own word for an agent, or an empty text
   */
  constructor(root, live, nameOf) {
    this.live = live;
    this.nameOf = nameOf;
    this.chip = part(root, "connection");
    this.body = part(root, "board-body");
    this.start = [...this.body.childNodes];
    live.addEventListener("state", () => this.#state());
    live.addEventListener("picture", ({ detail }) => this.show(detail.picture, detail.events));
    // Offers and waits end by themselves, and old data must look old.
    setInterval(() => this.#state(), 1000);
  }

  clear() {
    this.#recent = [];
    this.body.replaceChildren(...this.start);
  }

  show(picture, events) {
    const sections = byResource(picture);
    this.#recent = [...events.toReversed(), ...this.#recent].slice(0, RECENT);
    keyed(
      this.#resources,
      sections,
      (section) => section.resource,
      () => h("li", { class: "section" }),
      (element, section) => this.#section(element, section),
    );
    this.#showDeadlocks(picture.deadlocks);
    this.#log.replaceChildren(...this.#recent.map((event) => this.#entry(event)));
    this.#empty ??= h("div", { class: "empty" }, h("p", {}, t("board_empty")));
    this.body.replaceChildren(
      sections.length ? this.#resources : this.#empty,
      this.#deadlocks,
      this.#recent.length ? h("div", { class: "log-part" }, h("h4", {}, t("board_log")), this.#log) : "",
    );
  }

  #state() {
    const age = serverNow() - this.live.heardAt;
    const words = t(`live_${this.live.state}`, { age: duration(age) });
    this.chip.dataset.state = ["live", "off"].includes(this.live.state) ? this.live.state : "reconnecting";
    if (this.chip.textContent !== words) this.chip.textContent = words;
    this.body.toggleAttribute("data-stale", ["reconnecting", "delayed"].includes(this.live.state));
  }

  #section(element, { resource, holders, queue }) {
    const passed = element.dataset.holders && element.dataset.holders !== tokens(holders) && holders.length;
    element.dataset.holders = tokens(holders);
    if (!element.firstChild) {
      element.append(
        h(
          "p",
          { class: "section-name" },
          h("code", {}, resource),
          h("span", { class: "quiet", "data-part": "mode" }),
        ),
        h("ul", { class: "holders", role: "list" }),
        h("ol", { class: "queue", role: "list" }),
      );
    }
    const [, holderList, queueList] = element.children;
    part(element, "mode").textContent = holders.length ? t(`mode_${holders[0].mode}`) : "";
    keyed(
      holderList,
      holders.length ? holders : [null],
      (lease) => lease?.holder ?? "",
      () => h("li"),
      (item, lease) => this.#holder(item, lease, queue),
    );
    keyed(
      queueList,
      queue,
      (wait) => wait.actorDid,
      () => h("li"),
      (item, wait) => this.#wait(item, wait, queue.indexOf(wait)),
    );
    queueList.hidden = queue.length === 0;
    if (passed) moved(element);
  }

  #holder(item, lease, queue) {
    if (!lease) {
      const offered = queue[0]?.offeredUntil;
      item.className = "holder is-free";
      item.replaceChildren(
        h("p", {}, t(offered ? "board_offered" : "board_free")),
        h("div", { class: "track" }),
      );
      return;
    }
    const total = Date.parse(lease.expiresAt) - Date.parse(lease.acquiredAt);
    const countdown = item.querySelector("count-down");
    if (countdown && item.dataset.token === String(lease.fencingToken)) {
      countdown.setAttribute("until", lease.expiresAt);
      return;
    }
    item.className = "holder";
    item.dataset.token = lease.fencingToken;
    item.dataset.drains = "";
    item.replaceChildren(
      h(
        "p",
        {},
        h("span", { class: "staff" }, t("token", { token: number(lease.fencingToken) })),
        h("span", { class: "who" }, this.#agent(lease.holder)),
        h(
          "span",
          { class: "left" },
          h("span", { class: "quiet" }, t("board_left")),
          " ",
          h("count-down", { until: lease.expiresAt, total: Math.min(total, limits.leaseTtlMs) }),
        ),
      ),
      h("div", { class: "track" }, h("div", { class: "track-left" })),
    );
  }

  #wait(item, wait, index) {
    const offered = Boolean(wait.offeredUntil);
    const shape = `${index}|${wait.offeredUntil ?? ""}|${this.nameOf(wait.actorDid)}`;
    if (item.dataset.shape === shape) return;
    item.dataset.shape = shape;
    item.replaceChildren(
      icon(offered ? "signal-go" : "signal-stop"),
      h("span", { class: "place" }, t("place", { place: number(index + 1) })),
      h("span", { class: "who" }, this.#agent(wait.actorDid)),
      offered
        ? h("span", { class: "left" }, t("board_claim"), " ", h("count-down", { until: wait.offeredUntil }))
        : h("span", { class: "left quiet" }, t("board_again", { in: duration(backoff(index)) })),
    );
  }

  #showDeadlocks(pairs) {
    if (!pairs.length) {
      this.#deadlocks.replaceChildren();
      return;
    }
    this.#deadlocks.replaceChildren(
      h("h4", {}, icon("cross", "is-stop"), " ", t("deadlocks", { n: pairs.length })),
      h(
        "ul",
        { role: "list" },
        pairs.map(({ agents, resources, at }) =>
          h(
            "li",
            {},
            h("p", {}, this.#agent(agents[0]), ` ${t("deadlock_asked")} `, h("code", {}, resources[0])),
            h("p", {}, this.#agent(agents[1]), ` ${t("deadlock_waits")} `, h("code", {}, resources[1])),
            h("p", { class: "quiet" }, t("deadlock_refused", { at: clockTime(at) })),
          ),
        ),
      ),
    );
  }

  #agent(did) {
    const name = this.nameOf(did);
    return h(
      "span",
      { class: "agent" },
      name && h("b", {}, name, " "),
      h("short-did", { value: did, brief: Boolean(name) }),
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

const tokens = (holders) => holders.map((lease) => lease.fencingToken).join(" ");

const backoff = (ahead) => Math.min(limits.stampedeCapMs, limits.stampedeBaseMs * 2 ** ahead);

function moved(element) {
  element.classList.remove("has-moved");
  requestAnimationFrame(() => element.classList.add("has-moved"));
}
