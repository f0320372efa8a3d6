// The train graph: time runs from left to right, each resource has a line. A bar is a lease, and its end shows how it
// ended; dashes above are waiters. The list of events below gives the same in words.

import { serverNow } from "../lib/clock.js";
import { s } from "../lib/dom.js";
import { clockTime, number, shorten, t } from "../lib/text.js";
import { WINDOW_MS } from "./runs.js";

const LANE = 52;
const BAR = { y: 30, height: 14 };
const TOP = 20;
const MOST_LANES = 10;
const MOST_SLOTS = 4;
const SETTLED_MS = 8000;
const STEP_MS = 10_000;

export class TrainGraph {
  #places = [];

  /**
   * @param {SVGSVGElement} svg @param {import("./runs.js").Runs} runs
   * @param {() => number} known returns the instant until which events are known
   */
  constructor(svg, runs, known) {
    this.svg = svg;
    this.runs = runs;
    this.known = known;
    this.width = 0;
    this.lines = s("g");
    this.moving = s("g");
    this.names = s("g");
    svg.append(this.lines, this.moving, this.names);
    new ResizeObserver(([{ contentRect }]) => {
      // In units of the text size, which is larger on a wall screen.
      this.unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
      this.width = contentRect.width / this.unit;
      this.draw();
    }).observe(svg.parentElement);
  }

  draw() {
    if (!this.width) return;
    const now = serverNow();
    this.runs.forget(now);
    this.#settle(now);
    const height = TOP + Math.max(1, this.#places.length) * LANE;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.style.height = `${height * this.unit}px`;
    const x = (at) => this.width - ((now - at) / WINDOW_MS) * this.width;
    const lanes = this.#places.map((name) => this.runs.lanes.get(name));
    this.lines.replaceChildren(...this.#grid(now, x, height), ...lanes.map((_, at) => rail(at, this.width)));
    this.moving.replaceChildren(...lanes.flatMap((lane, at) => this.#lane(lane, at, x, Math.min(now, this.known()))));
    const most = Math.floor(this.width / 8);
    this.names.replaceChildren(
      ...lanes.map(({ resource }, at) =>
        s(
          "text",
          { class: "lane-name", x: 2, y: TOP + at * LANE + 15 },
          s("title", {}, resource),
          shorten(resource, Math.ceil(most * 0.7), Math.floor(most * 0.25)),
        ),
      ),
    );
    const count = lanes.reduce((sum, { runs }) => sum + runs.length, 0);
    const label = t("bd_graphic", { lanes: number(lanes.length), runs: number(count) });
    if (this.svg.getAttribute("aria-label") !== label) this.svg.setAttribute("aria-label", label);
  }

  /** A resource keeps its line. When all lines are taken, one without recent events gives way to one with events. */
  #settle(now) {
    const { lanes } = this.runs;
    this.#places = this.#places.filter((name) => lanes.has(name));
    const fresh = [...lanes.values()].reverse().filter(({ resource }) => !this.#places.includes(resource));
    for (const { resource, at } of fresh.slice(0, MOST_LANES)) {
      if (this.#places.length < MOST_LANES) {
        this.#places.push(resource);
        continue;
      }
      const quiet = this.#places.findIndex((name) => lanes.get(name).at < Math.min(at, now - SETTLED_MS));
      if (quiet < 0) break;
      this.#places[quiet] = resource;
    }
  }

  #grid(now, x, height) {
    const first = Math.ceil((now - WINDOW_MS) / STEP_MS) * STEP_MS;
    const steps = [];
    for (let at = first; at < now; at += STEP_MS) {
      steps.push(s("path", { class: "hour", d: `M${x(at).toFixed(1)} ${TOP - 4}V${height}` }));
      if (x(at) > 30 && x(at) < this.width - 30)
        steps.push(s("text", { class: "hour-name", x: x(at).toFixed(1), y: TOP - 8 }, clockTime(at)));
    }
    return steps;
  }

  #lane({ runs, waits, marks }, at, x, known) {
    const y = TOP + at * LANE;
    const from = (ms) => Math.max(-8, x(ms));
    return [
      ...waits.slice(-6).map(({ from: since, to, did }, place) => {
        const line = y + BAR.y - 4 - (place % 3) * 3;
        const path = s("path", {
          class: "wait-run",
          d: `M${from(since).toFixed(1)} ${line}H${x(to ?? known).toFixed(1)}`,
        });
        path.append(s("title", {}, did));
        return path;
      }),
      ...marks
        .filter(({ kind }) => kind === "offered")
        .map((mark) => bar("offer-run", from(mark.at), x(Math.min(mark.until, known)), y)),
      ...slots(runs).flatMap((place) => this.#run(place, y, from, x, known)),
      ...marks.filter(({ kind }) => kind === "deadlock").map((mark) => cross(x(mark.at), y + BAR.y - 8)),
    ];
  }

  #run({ run: { token, did, from: since, to, end }, slot, of }, y, from, x, known) {
    const [left, right] = [from(since), x(to ?? known)];
    const rect = bar("staff-run", left, right, y, slot, of);
    rect.append(s("title", {}, `${did} · ${t("token", { token: number(token) })}`));
    const parts = [rect];
    const words = number(token);
    if (of === 1 && right - Math.max(left, 0) > 10 + words.length * 8)
      parts.push(
        s("text", { class: "run-token", x: (Math.max(left, 0) + 7).toFixed(1), y: y + BAR.y + 11 }, words),
      );
    if (end === "expired") parts.push(cross(right, y + BAR.y + BAR.height / 2));
    return parts;
  }
}

/** Shared leases overlap: their bars share the height of a line, one above the other. */
function slots(runs) {
  const placed = [];
  let together = [];
  let end = 0;
  const close = () => {
    const of = Math.max(...together.map(({ slot }) => slot)) + 1;
    for (const place of together) placed.push({ ...place, of });
    together = [];
  };
  for (const run of [...runs].sort((one, other) => one.from - other.from)) {
    if (together.length && run.from >= end) close();
    const taken = together.filter((place) => (place.run.to ?? Infinity) > run.from).map(({ slot }) => slot);
    let slot = 0;
    while (taken.includes(slot) && slot < MOST_SLOTS - 1) slot += 1;
    end = together.length ? Math.max(end, run.to ?? Infinity) : (run.to ?? Infinity);
    together.push({ run, slot });
  }
  if (together.length) close();
  return placed;
}

const rail = (at, width) => {
  const y = TOP + at * LANE + BAR.y + BAR.height / 2;
  return s("path", { class: "rail", d: `M0 ${y - 2.5}H${width}M0 ${y + 2.5}H${width}` });
};

function bar(name, left, right, y, slot = 0, of = 1) {
  const height = BAR.height / of;
  const place = { x: left.toFixed(1), y: y + BAR.y + slot * height };
  return s("rect", {
    class: name,
    ...place,
    width: Math.max(3, right - left).toFixed(1),
    height,
    rx: height / 2.4,
  });
}

const cross = (x, y) =>
  s(
    "g",
    { class: "expired-end", transform: `translate(${x.toFixed(1)} ${y})` },
    s("circle", { r: 6.5 }),
    s("path", { d: "M-2.6 -2.6l5.2 5.2m0 -5.2l-5.2 5.2" }),
  );
