// The timeline: the train graph of the last minute, and a list of the latest events.

import { serverNow } from "../lib/clock.js";
import { h, icon, part, put } from "../lib/dom.js";
import { clockTime, number, shortDid, t } from "../lib/text.js";
import { List } from "./list.js";
import { Runs } from "./runs.js";
import { TrainGraph } from "./train-graph.js";

const SIGNS = {
  granted: ["staff", ""],
  renewed: ["again", ""],
  released: ["check", "is-go"],
  expired: ["cross", "is-stop"],
  offered: ["signal-go", "is-go"],
  queued: ["signal-stop", ""],
  withdrawn: ["done", ""],
  lapsed: ["pending", ""],
  deadlock: ["cross", "is-stop"],
};

const FILTERS = {
  "": () => true,
  concesiones: ({ event }) => event === "granted" || event === "renewed",
  finales: ({ event }) => event === "released" || event === "expired",
  rechazos: ({ event }) => event === "queued" || event === "deadlock",
  caducidades: ({ event }) => event === "expired",
};

/** @param {(resource: string) => void} open */
export function timeline(root, board, open) {
  const { address, log } = board;
  const runs = new Runs();
  const graphic = new TrainGraph(root.querySelector("svg.train-graph"), runs, () => board.live.knownUntil);

  // Latest first: ids fall.
  const list = new List(root, {
    all: () => log.events.map(({ id }) => id),
    find: (id) => log.find(id),
    rank: (event) =>
      (FILTERS[address.filtro] ?? FILTERS[""])(event) && mentions(event, board.words)
        ? [-Number(event.id)]
        : null,
    filtered: () => Boolean(board.words || address.filtro),
    create,
    update: (row, id) => update(row, log.find(id), list.rows.letters),
  });
  part(root, "rows").addEventListener("click", ({ target }) => {
    const row = target.closest('[role="row"]');
    if (row && !getSelection().toString()) open(log.find(row.dataset.key)?.resource ?? row.resource);
  });
  const tick = () => !root.hidden && !document.hidden && graphic.draw();
  setInterval(tick, matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 100);

  return {
    note({ events, fresh }) {
      if (fresh) runs.begin(board.picture, serverNow());
      runs.note(events, board.picture);
      const last = log.events.at(-1);
      list.note([...log.events.slice(0, events.length).map(({ id }) => id), ...dropped(last)]);
    },
    again: () => list.again(),
    draw: () => list.draw(),
    focus: () => {},
  };

  /** The ids that the log no longer keeps. */
  function dropped(last) {
    return last ? list.order.keys.filter((id) => Number(id) < Number(last.id)) : [];
  }
}

const mentions = ({ resource, actorDid }, words) =>
  !words || resource.toLowerCase().includes(words) || actorDid.toLowerCase().includes(words);

function create() {
  return h(
    "div",
    { role: "row", class: "list-row is-event" },
    h("div", { role: "cell", class: "cell-at" }, h("time")),
    h("div", { role: "cell", class: "cell-what" }),
    h(
      "div",
      { role: "cell", class: "cell-name" },
      h("button", { type: "button", class: "cell-open", "data-opens": "" }, h("code")),
    ),
    h("div", { role: "cell", class: "cell-holder" }, h("span", { class: "who-did" })),
    h("div", { role: "cell", class: "cell-detail" }),
  );
}

function update(row, event, letters) {
  if (!event) return;
  const who = row.children[3].firstChild;
  if (row.letters !== letters) put(who, shortDid(event.actorDid, letters));
  row.letters = letters;
  if (row.resource !== undefined) return;
  row.resource = event.resource;
  const [at, what, name, , detail] = row.children;
  at.firstChild.dateTime = event.at;
  put(at.firstChild, clockTime(event.at));
  what.append(icon(...(SIGNS[event.event] ?? ["pending", ""])), h("span", {}, t(`bd_event_${event.event}`)));
  put(name.firstChild.firstChild, event.resource);
  name.firstChild.title = event.resource;
  who.title = event.actorDid;
  put(detail, details(event));
}

function details({ event, fencingToken, trust, holder, outage }) {
  if (event === "deadlock") return t("bd_held_by", { holder: shortDid(holder) });
  const words = fencingToken ? [t("token", { token: number(fencingToken) })] : [];
  if (trust?.delta)
    words.push(
      t("bd_trust_moves", {
        delta: `${trust.delta < 0 ? "−" : "+"}${number(Math.abs(trust.delta), 1)}`,
        score: number(trust.score, 1),
      }),
    );
  if (outage) words.push(t("bd_outage"));
  return words.join(" · ");
}
