// The list of agents: the trust of each and its last moves, what it holds, what it waits for.

import { h, keyed, part, put } from "../lib/dom.js";
import { number, shortDid, t } from "../lib/text.js";
import { Conduct } from "./conduct.js";
import { List } from "./list.js";

const NAMES_SHOWN = 2;
const UNKNOWN = Number.MAX_SAFE_INTEGER;

const RANKS = {
  "": ({ holds, waits }) => [-waits.size, -holds.size],
  confianza: ({ trust }) => [trust ?? UNKNOWN],
  tiene: ({ holds }) => [-holds.size],
  nombre: () => [],
};

const FILTERS = {
  "": () => true,
  tiene: ({ holds }) => holds.size > 0,
  espera: ({ waits }) => waits.size > 0,
};

/** @param {(resource: string) => void} open */
export function agents(root, board, open) {
  const { address } = board;
  const agentsPage = root.dataset.agents;
  const conduct = new Conduct(root.dataset.conduct, board, () => list.draw());

  function rank(agent) {
    if (!(FILTERS[address.filtro] ?? FILTERS[""])(agent) || !mentions(agent, board.words)) return null;
    return (RANKS[address.orden] ?? RANKS[""])(agent);
  }

  const list = new List(root, {
    all: () => board.picture.agents.keys(),
    find: (did) => board.picture.agents.get(did),
    rank,
    filtered: () => Boolean(board.words || address.filtro),
    create,
    update: (row, did) => update(row, did, board.picture.agents.get(did), list.rows.letters),
  });
  part(root, "rows").addEventListener("click", ({ target }) => {
    const name = target.closest("button[data-resource]")?.dataset.resource;
    if (name) open(name);
  });

  function create() {
    return h(
      "div",
      { role: "row", class: "list-row is-agent" },
      h(
        "div",
        { role: "cell", class: "cell-name" },
        h(agentsPage ? "a" : "span", { class: "who-did", "data-opens": "" }),
      ),
      h(
        "div",
        { role: "cell", class: "cell-trust" },
        h("span", { class: "gauge", "aria-hidden": "true" }, h("i")),
        h("b"),
      ),
      h("div", { role: "cell", class: "cell-moves" }),
      h("div", { role: "cell", class: "cell-holds" }),
      h("div", { role: "cell", class: "cell-waits" }),
    );
  }

  function update(row, did, agent, letters) {
    const { trust = null, holds = new Map(), waits = new Map() } = agent ?? {};
    const moves = conduct.moves(did);
    const shape = [letters, trust, moves.map(({ at }) => at), [...holds.keys()], "|", [...waits.keys()]].join(" ");
    if (row.shape === shape) return;
    row.shape = shape;
    const [name, score, moved, held, waited] = row.children;
    put(name.firstChild, shortDid(did, letters));
    name.firstChild.title = did;
    if (agentsPage) name.firstChild.href = `${agentsPage}?did=${encodeURIComponent(did)}`;
    score.firstChild.firstChild.style.setProperty("--score", (trust ?? 0) / 100);
    put(score.lastChild, trust === null ? "…" : number(trust, 1));
    moved.replaceChildren(...moves.map(move));
    names(held, holds, "bd_holds");
    names(waited, waits, "bd_waits");
  }

  return {
    note: ({ dids, events }) => {
      conduct.note(events);
      list.note(dids);
    },
    again: () => list.again(),
    draw: () => list.draw(),
    focus: () => {},
  };
}

const mentions = ({ did, holds, waits }, words) =>
  !words ||
  did.toLowerCase().includes(words) ||
  [...holds.keys(), ...waits.keys()].some((name) => name.toLowerCase().includes(words));

const move = ({ delta }) =>
  h(
    "span",
    { class: `move ${delta < 0 ? "is-stop" : "is-go"}` },
    `${delta < 0 ? "▼" : "▲"} ${delta < 0 ? "−" : "+"}${number(Math.abs(delta), 1)}`,
  );

/** Fills a cell: a count, the first names as buttons, and how many more. Names that stay keep their element. */
function names(cell, things, words) {
  const shown = [...things.keys()].slice(0, NAMES_SHOWN);
  const more = things.size - shown.length;
  const parts = [
    things.size && { key: "#", text: t(words, { n: things.size, count: number(things.size) }) },
    ...shown.map((name) => ({ key: `=${name}`, name })),
    more > 0 && { key: "…", text: t("bd_and_more", { n: number(more) }) },
  ];
  keyed(
    cell,
    parts.filter(Boolean),
    ({ key }) => key,
    ({ name }) => (name === undefined ? h("span", { class: "quiet" }) : opener(name)),
    (element, { text }) => text && put(element, text),
  );
}

function opener(name) {
  const attributes = { class: "link-button", "data-resource": name, title: name, tabindex: -1 };
  const button = h("button", { type: "button", ...attributes }, h("code", {}, name));
  button.style.setProperty("--letters", name.length);
  return button;
}
