// The list of resources: each row has its holder, the time left, and its queue.

import "../elements/countdown.js";
import { serverNow } from "../lib/clock.js";
import { h, icon, moved, part, put } from "../lib/dom.js";
import { data, number, seconds, shortDid, t } from "../lib/text.js";
import { List } from "./list.js";

const LAST = "\uffff";
const limits = data("limits");

const oldest = ({ queue }) => queue.reduce((since, wait) => (wait.since < since ? wait.since : since), LAST);
const ends = ({ holders }) =>
  holders.reduce((last, { expiresAt }) => (expiresAt > last ? expiresAt : last), "");

/** What each order sorts by. Times are texts of equal length, which sort by time. */
const RANKS = {
  "": (section) => [-section.queue.length, oldest(section)],
  espera: (section) => [oldest(section)],
  caduca: (section) => [ends(section) || LAST],
  nombre: () => [],
};

const FILTERS = {
  "": () => true,
  cola: ({ queue }) => queue.length > 0,
  ofrecido: ({ queue }) => queue.some(({ offeredUntil }) => offeredUntil),
  compartido: ({ holders }) => holders.some(({ mode }) => mode === "shared"),
};

/** @param {{picture, address, words: string}} board @param {(resource: string) => void} open */
export function resources(root, board, open) {
  const { address } = board;

  function rank(section) {
    if (!(FILTERS[address.filtro] ?? FILTERS[""])(section) || !mentions(section, board.words)) return null;
    return (RANKS[address.orden] ?? RANKS[""])(section);
  }

  const list = new List(root, {
    all: () => board.picture.sections.keys(),
    find: (name) => board.picture.sections.get(name),
    rank,
    filtered: () => Boolean(board.words || address.filtro),
    create,
    update: (row, name) => update(row, name, board.picture.sections.get(name), list.rows.letters),
  });
  part(root, "rows").addEventListener("click", ({ target }) => {
    const row = target.closest('[role="row"]');
    if (row && !getSelection().toString()) open(row.dataset.key);
  });
  return {
    note: ({ names }) => list.note(names),
    again: () => list.again(),
    draw: () => list.draw(),
    focus: (name) => list.rows.focus(name),
  };
}

const mentions = ({ resource, holders, queue }, words) =>
  !words ||
  resource.toLowerCase().includes(words) ||
  holders.some(({ holder }) => holder.toLowerCase().includes(words)) ||
  queue.some(({ actorDid }) => actorDid.toLowerCase().includes(words));

const cell = (name, ...children) =>
  h("div", { role: "cell", class: `cell-${name}`, "data-part": name }, ...children);

function create() {
  return h(
    "div",
    { role: "row", class: "list-row is-resource" },
    cell(
      "name",
      h("button", { type: "button", class: "cell-open", "data-opens": "" }, h("code")),
      h("span", { class: "quiet" }),
    ),
    cell("token", h("span", { class: "staff" })),
    cell("holder", h("span", { class: "who-did" }), h("span", { class: "quiet" })),
    h(
      "div",
      { role: "cell", class: "cell-track", "data-drains": "" },
      h("div", { class: "track" }, h("div", { class: "track-left" })),
      h("count-down", { until: new Date(0).toISOString() }),
    ),
    cell("queue"),
    cell("oldest", h("span", { class: "quiet" }, t("bd_since")), h("span")),
  );
}

function update(row, name, section = { resource: name, holders: [], queue: [] }, letters) {
  const { holders, queue } = section;
  const queued = queue.map(({ actorDid, offeredUntil }) => `${actorDid} ${offeredUntil ?? ""}`).join("|");
  const held = holders.map(({ holder, fencingToken, expiresAt }) => `${holder} ${fencingToken} ${expiresAt}`);
  const shape = `${held.join("|")}||${queued}||${letters}`;
  const since = oldest(section);
  const [sinceWords, age] = part(row, "oldest").children;
  sinceWords.hidden = since === LAST;
  put(age, since === LAST ? "" : seconds(serverNow() - Date.parse(since)));
  if (row.shape === shape) return;
  const passed = row.shape !== undefined && row.token !== undefined && holders.length > 0;
  row.shape = shape;
  drawHolders(row, name, section, { passed, letters });
  // A renewal does not change the queue, and icons cost more to draw than text.
  if (row.queued !== queued) drawQueue(part(row, "queue"), queue);
  row.queued = queued;
}

function drawHolders(row, name, section, { passed, letters }) {
  const { holders, queue } = section;
  const offered = !holders.length && queue.find(({ offeredUntil }) => offeredUntil);
  const lease = holders.reduce(
    (last, one) => (last && last.fencingToken > one.fencingToken ? last : one),
    null,
  );
  const [button, mode] = part(row, "name").children;
  put(button.firstChild, name);
  button.title = name;
  put(mode, lease ? t(`mode_${lease.mode}`) : "");
  row.classList.toggle("is-free", !lease);
  const staff = part(row, "token").firstChild;
  staff.hidden = !lease && !offered;
  staff.classList.toggle("is-offered", Boolean(offered));
  put(staff, lease ? t("token", { token: number(lease.fencingToken) }) : t("bd_offered"));
  const [did, more] = part(row, "holder").children;
  const who = lease?.holder ?? offered?.actorDid ?? "";
  put(more, holders.length > 1 ? t("bd_and_more", { n: number(holders.length - 1) }) : "");
  put(did, who ? shortDid(who, letters - more.textContent.length) : t("board_free"));
  did.title = who;
  drawCountdown(
    row,
    lease ? ends(section) : offered?.offeredUntil,
    lease ? limits.leaseTtlMs : limits.offerMs,
    lease,
  );
  // The token moves when the lease passes to another agent, not when it is renewed.
  if (passed && lease && row.token !== lease.fencingToken) moved(staff);
  row.token = lease?.fencingToken ?? null;
}

function drawCountdown(row, until, total, lease) {
  const track = row.querySelector(".cell-track");
  const [line, countdown] = track.children;
  countdown.hidden = !until;
  line.firstChild.hidden = !lease;
  if (!until) return;
  countdown.setAttribute("total", total);
  countdown.setAttribute("until", until);
}

function drawQueue(host, queue) {
  if (!queue.length) {
    host.replaceChildren();
    return;
  }
  const offered = queue.some(({ offeredUntil }) => offeredUntil);
  host.replaceChildren(
    icon(offered ? "signal-go" : "signal-stop", offered ? "is-go" : ""),
    h(
      "span",
      { class: "trains", "aria-hidden": "true" },
      queue.slice(0, limits.queueLimit).map(({ mode, offeredUntil }) =>
        h("i", {
          class: `${mode === "shared" ? "is-shared" : ""} ${offeredUntil ? "is-offered" : ""}`.trim(),
        }),
      ),
    ),
    h("span", {}, t("bd_in_queue", { n: queue.length, count: number(queue.length) })),
  );
}
