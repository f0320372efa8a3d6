// The refused deadlocks whose cycle would still close, and those that have ended, with what ended them.

import "../elements/short-did.js";
import { serverNow } from "../lib/clock.js";
import { h, icon, keyed, moved, part, put } from "../lib/dom.js";
import { clockTime, number, t } from "../lib/text.js";
import { drawing, DRAWN } from "./cycle.js";
import { replay } from "./replay.js";

const SHOWN = 20;
const ENDED_KEPT = 10;
const STEPS_SHOWN = 40;
/** The end of a deadlock is reported up to a second after the event that ended it. */
const CAUSE_MS = 4000;
const CAUSES = new Set(["released", "expired", "withdrawn", "lapsed", "granted"]);

/** An agent that asks again and is refused again is in the same deadlock. */
const idOf = ({ agents, resources }) => [...agents, ...resources].join("\n");
const cycleOf = (pair) =>
  [idOf(pair), ...pair.cycle.map(({ agent, waitsFor }) => `${agent} ${waitsFor}`)].join("\n");

/** @param {(resource: string) => void} open */
export function deadlocks(root, board, open) {
  const lists = { now: part(root, "now"), ended: part(root, "ended") };
  let known = new Map();
  let ended = [];

  root.addEventListener("click", ({ target }) => {
    const name = target.closest("button[data-resource]")?.dataset.resource;
    if (name) open(name);
  });

  /** Finds the deadlocks that left the list, and the event that may have ended each. */
  function note() {
    const now = new Map(board.picture.deadlocks.map((pair) => [idOf(pair), pair]));
    for (const [id, pair] of known) {
      if (now.has(id)) continue;
      // An event before the refusal, or long before now, did not end it: the server may just have forgotten it.
      const since = Math.max(Date.parse(pair.at), serverNow() - CAUSE_MS);
      ended.unshift({ pair, cause: board.log.cause((event) => causes(pair, event), since) });
    }
    ended = ended.slice(0, ENDED_KEPT);
    known = now;
  }

  function draw() {
    if (root.hidden) return;
    const pairs = board.picture.deadlocks.slice(0, SHOWN);
    keyed(lists.now, pairs, cycleOf, card, (element, { at }) => {
      put(part(element, "at"), t("bd_refused_at", { at: clockTime(at) }));
    });
    keyed(
      lists.ended,
      ended,
      ({ pair }) => `${idOf(pair)} ${pair.at}`,
      endedCard,
      () => {},
    );
    part(root, "empty").hidden = pairs.length > 0;
    part(root, "ended-part").hidden = !ended.length;
    const more = board.picture.deadlocks.length - pairs.length;
    part(root, "more").hidden = more <= 0;
    part(root, "more").textContent = t("bd_and_more", { n: number(more) });
  }

  return { note, again: () => {}, draw, focus: () => {} };
}

function causes({ agents, resources, cycle }, { event, resource, actorDid }) {
  if (!CAUSES.has(event)) return false;
  const names = new Set([...resources, ...cycle.map(({ waitsFor }) => waitsFor)]);
  return names.has(resource) && (agents.includes(actorDid) || cycle.some(({ agent }) => agent === actorDid));
}

const name = (resource) =>
  h("button", { type: "button", class: "link-button", "data-resource": resource }, h("code", {}, resource));
const who = (did) => h("short-did", { value: did });

function card(pair) {
  const { agents, resources, cycle } = pair;
  const svg = drawing(cycle, t("bd_circle", { n: number(cycle.length) }));
  const element = h(
    "li",
    { class: "deadlock" },
    h(
      "div",
      { class: "deadlock-words" },
      h("h2", {}, icon("cross", "is-stop"), " ", h("span", { "data-part": "at" })),
      h("p", {}, who(agents[0]), ` ${t("deadlock_asked")} `, name(resources[0]), "."),
      h("p", {}, who(agents[1]), ` ${t("deadlock_waits")} `, name(resources[1]), "."),
      h("p", { class: "quiet" }, t("bd_refused_why")),
      inWords(cycle),
      cycle.length <= DRAWN ? replay(svg, cycle) : null,
    ),
    svg,
  );
  moved(element);
  return element;
}

/** The same as the drawing, as a list. */
function inWords(cycle) {
  const holderOf = (index) => cycle[(index + 1) % cycle.length].agent;
  return h(
    "details",
    { class: "disclosure" },
    h("summary", {}, t("bd_circle_words", { n: cycle.length, count: number(cycle.length) })),
    h(
      "ol",
      {},
      cycle
        .slice(0, STEPS_SHOWN)
        .map(({ agent, waitsFor }, index) =>
          h(
            "li",
            {},
            who(agent),
            ` ${t(index ? "bd_waits_for" : "bd_would_wait")} `,
            name(waitsFor),
            `, ${t("bd_which")} `,
            who(holderOf(index)),
          ),
        ),
      cycle.length > STEPS_SHOWN
        ? h("li", {}, t("bd_and_more", { n: number(cycle.length - STEPS_SHOWN) }))
        : "",
    ),
  );
}

function endedCard({ pair, cause }) {
  const { agents, resources, at } = pair;
  return h(
    "li",
    { class: "deadlock-ended" },
    h(
      "p",
      {},
      icon("check", "is-go"),
      " ",
      who(agents[0]),
      ` ${t("deadlock_asked")} `,
      name(resources[0]),
      ` · ${clockTime(at)}`,
    ),
    cause
      ? h(
          "p",
          { class: "quiet" },
          t(`bd_ended_${cause.event}`, { at: clockTime(cause.at) }),
          " ",
          who(cause.actorDid),
          " · ",
          name(cause.resource),
        )
      : h("p", { class: "quiet" }, t("bd_ended_forgotten")),
  );
}
