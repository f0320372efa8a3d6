// The board's page: connects the live picture, its views and the address, which says what is shown.

import { serverNow } from "../lib/clock.js";
import { keepIcons, part, put } from "../lib/dom.js";
import { Live } from "../lib/live.js";
import { number } from "../lib/text.js";
import { Address } from "./address.js";
import { agents } from "./agents.js";
import { Beyond } from "./beyond.js";
import { Connection, makeAsk } from "./connection.js";
import { deadlocks } from "./deadlocks.js";
import { Drawer } from "./drawer.js";
import { Log, Rates } from "./log.js";
import { resources } from "./resources.js";
import { Sparkline } from "./sparkline.js";
import { timeline } from "./timeline.js";

const TYPED_MS = 200;
const whenIdle = window.requestIdleCallback ?? ((then) => setTimeout(then, 100));

const root = document.getElementById("board");
const live = new Live(root.dataset.socket);
const address = new Address();
const ask = makeAsk(live, part(root, "beyond").dataset.from);
const board = { picture: null, words: "", address, log: new Log(), live, ask };
const connection = new Connection(root, live);
const rates = new Rates();
const all = (selector) => [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(selector))];
const sparklines = all("[data-kind]").map((element) => new Sparkline(element, rates));
const panels = new Map(all("[data-view]").map((panel) => [panel.dataset.view, panel]));
const open = (recurso) => recurso && address.set({ recurso }, { push: true });
const views = new Map(
  Object.entries({
    recursos: resources,
    agentes: agents,
    interbloqueos: deadlocks,
    cronologia: timeline,
  }).map(([name, make]) => [name, make(panels.get(name), board, open)]),
);
const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("drawer"));
const drawer = new Drawer(dialog, board, (name) => focusOn(name));
const beyond = new Beyond(part(root, "beyond"), board, open);
const search = part(root, "search");
let drawing = false;

function focusOn(name) {
  views.get(address.vista).focus(name);
  if (document.activeElement === document.body) part(root, "tabs").querySelector("[aria-current]").focus();
}

/** Applies the address to the controls and the lists. */
function follow() {
  board.words = address.q.trim().toLowerCase();
  for (const [name, panel] of panels) panel.hidden = name !== address.vista;
  for (const link of part(root, "tabs").querySelectorAll("a")) {
    const { view } = link.dataset;
    link.toggleAttribute("aria-current", false);
    if (view === address.vista) link.setAttribute("aria-current", "page");
    link.href = address.search({ vista: view, filtro: "", orden: "", recurso: "" }) || location.pathname;
  }
  if (document.activeElement !== search) search.value = address.q;
  part(root, "tools").hidden = address.vista === "interbloqueos";
  for (const choice of /** @type {NodeListOf<HTMLSelectElement>} */ (root.querySelectorAll("select[data-for]"))) {
    /** @type {HTMLElement} */ (choice.closest(".field")).hidden = !choice.dataset.for.split(" ").includes(address.vista);
    choice.value = address[choice.name];
    if (choice.selectedIndex < 0) choice.value = "";
  }
  beyond.follow();
  if (!board.picture) return;
  for (const view of views.values()) view.again();
  drawer.follow();
  draw();
}

/** Draws in the next frame, once for many changes; not while the tab is hidden. */
function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function draw() {
  if (!board.picture || document.hidden) return;
  views.get(address.vista).draw();
  drawer.draw();
  const { counters } = board.picture;
  for (const [name, value] of Object.entries(counters)) {
    put(part(root, `count-${name}`), number(value));
  }
  part(root, "counters").toggleAttribute("data-deadlocks", counters.deadlocks > 0);
  root.dataset.ready = "";
}

live.addEventListener("picture", (/** @type {CustomEvent} */ { detail: { picture, events, fresh } }) => {
  const first = !board.picture;
  board.picture = picture;
  board.log.note(events);
  rates.note(events);
  const changed = { ...picture.take(), events, fresh };
  for (const view of views.values()) view.note(changed);
  if (first) follow();
  else drawSoon();
});

function tick() {
  connection.draw();
  if (!board.picture) return;
  const now = serverNow();
  if (live.state === "live") rates.measure(now, board.picture.counters.waiters);
  if (document.hidden) return;
  // When the browser is idle: not in a frame that also draws a list.
  whenIdle(() => { for (const sparkline of sparklines) sparkline.draw(now); }, { timeout: 500 });
  drawer.tick();
  drawSoon();
}

root.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  if (target.closest("[data-clear]")) {
    search.value = "";
    address.set({ q: "", filtro: "" });
  }
  const link = /** @type {HTMLElement} */ (target.closest("a[data-view]"));
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  address.set({ vista: link.dataset.view, filtro: "", orden: "", recurso: "" }, { push: true });
});
root.addEventListener("change", (event) => {
  const target = /** @type {HTMLSelectElement} */ (event.target);
  if (target.matches("select[data-for]")) address.set({ [target.name]: target.value });
});
let typing = null;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => address.set({ q: search.value }), TYPED_MS);
});
part(root, "tools").addEventListener("submit", (event) => event.preventDefault());
address.addEventListener("change", follow);
document.addEventListener("visibilitychange", drawSoon);
follow();
setInterval(tick, 1000);
keepIcons().catch(() => {});
live.start();
