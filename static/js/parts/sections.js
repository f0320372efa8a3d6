// Draws resources as sections of track: the holders with token and time left, and the queue at the signal.

import "../elements/countdown.js";
import "../elements/short-did.js";
import { h, icon, keyed, moved, part, swap } from "../lib/dom.js";
import { data, duration, number, t } from "../lib/text.js";

const limits = data("limits");

/** An agent: the page's name for it, if there is one, and its DID. */
export function agent(nameOf, did) {
  const name = nameOf(did);
  return h(
    "span",
    { class: "agent" },
    name && h("b", {}, name, " "),
    h("short-did", { value: did, brief: Boolean(name) }),
  );
}

export class Sections {
  element = h("ol", { class: "sections", role: "list" });

  /** @param {(did: string) => string} nameOf the page's name for an agent, or an empty text */
  constructor(nameOf) {
    this.nameOf = nameOf;
  }

  /** @param {{resource: string, holders: object[], queue: object[]}[]} sections in the order to show */
  show(sections) {
    keyed(
      this.element,
      sections,
      (section) => section.resource,
      () => h("li", { class: "section" }),
      (element, section) => this.#section(element, section),
    );
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
      swap(
        item,
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
    swap(
      item,
      h(
        "p",
        {},
        h("span", { class: "staff" }, t("token", { token: number(lease.fencingToken) })),
        h("span", { class: "who" }, agent(this.nameOf, lease.holder)),
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
    swap(
      item,
      icon(offered ? "signal-go" : "signal-stop"),
      h("span", { class: "place" }, t("place", { place: number(index + 1) })),
      h("span", { class: "who" }, agent(this.nameOf, wait.actorDid)),
      offered
        ? h("span", { class: "left" }, t("board_claim"), " ", h("count-down", { until: wait.offeredUntil }))
        : h("span", { class: "left quiet" }, t("board_again", { in: duration(backoff(index)) })),
    );
  }
}

const tokens = (holders) => holders.map((lease) => lease.fencingToken).join(" ");

const backoff = (ahead) => Math.min(limits.stampedeCapMs, limits.stampedeBaseMs * 2 ** ahead);
