// The drawing of a circle of waits, in the language of the single track: agents are trains, resources are the sections
// that they hold, and the request that was refused stands at a signal that says stop.

import { shorten } from "../lib/did.js";
import { t } from "../lib/text.js";

const SVG = "http://www.w3.org/2000/svg";
/** More agents than this are drawn as a gap. */
const DRAWN = 6;
const [WIDTH, HEIGHT] = [560, 300];
const [TRAIN_W, TRAIN_H] = [132, 34];
const [SECTION_W, SECTION_H] = [150, 26];

function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/**
 * The nodes of a circle in order: agent, what it waits for, who holds that, and so on. Pure.
 * @param {{agent: string, waitsFor: string}[]} cycle beginning with the refused one
 */
export function nodes(cycle) {
  const shown = cycle.length > DRAWN ? [...cycle.slice(0, DRAWN - 2), null, cycle.at(-1)] : cycle;
  return shown.flatMap((step) =>
    step
      ? [
          { kind: "agent", name: step.agent },
          { kind: "resource", name: step.waitsFor },
        ]
      : [{ kind: "gap", name: String(cycle.length - DRAWN + 1) }],
  );
}

/** @param {(did: string) => string} nameOf */
export function drawing(cycle, title) {
  const all = nodes(cycle);
  const places = all.map((node, index) => ({ ...node, ...placeOf(index, all.length) }));
  const svg = s("svg", { class: "circle-drawing", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  places.forEach((node, index) => svg.append(edge(node, places[(index + 1) % places.length], index === 0)));
  for (const node of places) svg.append(NODES[node.kind](node));
  return svg;
}

/** Round an ellipse, beginning on the left, clockwise. */
function placeOf(index, count) {
  const angle = Math.PI + (index / count) * 2 * Math.PI;
  const [rx, ry] = [WIDTH / 2 - SECTION_W / 2 - 4, HEIGHT / 2 - SECTION_H - 6];
  return { x: WIDTH / 2 + rx * Math.cos(angle), y: HEIGHT / 2 + ry * Math.sin(angle) };
}

const fitted = (text, most) => shorten(text, Math.ceil(most * 0.6), Math.floor(most * 0.3));

const NODES = {
  agent: ({ x, y, name }) =>
    s(
      "g",
      { class: "train-node", transform: `translate(${x} ${y})` },
      s("title", {}, name),
      s("path", { d: `M${-TRAIN_W / 2} ${-TRAIN_H / 2}h${TRAIN_W - 14}l14 ${TRAIN_H / 2}l-14 ${TRAIN_H / 2}h${14 - TRAIN_W}z` }),
      s("text", { x: -6, y: 4.5 }, fitted(name.replace(/^did:(key|web):/, ""), 15)),
    ),
  resource: ({ x, y, name }) =>
    s(
      "g",
      { class: "section-node", transform: `translate(${x} ${y})` },
      s("title", {}, name),
      s("rect", { x: -SECTION_W / 2, y: -SECTION_H / 2, width: SECTION_W, height: SECTION_H, rx: SECTION_H / 2 }),
      s("text", { y: 4.5 }, fitted(name, 18)),
    ),
  gap: ({ x, y, name }) =>
    s("g", { class: "gap-node", transform: `translate(${x} ${y})` }, s("text", { y: 4.5 }, t("bd_gap", { n: name }))),
};

/** From one node to the next. An agent waits for a resource: dashed. A resource is held by an agent: rails. */
function edge(from, to, refused) {
  const waits = from.kind === "agent";
  const [x1, y1] = border(from, to);
  const [x2, y2] = border(to, from);
  const group = s("g", { class: `edge ${waits ? "is-wait" : "is-held"} ${refused ? "is-refused" : ""}`.trim() });
  group.append(s("path", { class: "line", d: `M${x1} ${y1}L${x2} ${y2}` }));
  if (!waits) group.append(s("path", { class: "between", d: `M${x1} ${y1}L${x2} ${y2}` }));
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  if (waits) group.append(s("path", { class: "head", d: "M0 0l-9 -4.5v9z", transform: `translate(${x2} ${y2}) rotate(${angle})` }));
  if (refused) {
    const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
    group.append(
      s("path", { class: "stop", d: "M-4.6 -11h9.2l6.4 6.4v9.2l-6.4 6.4h-9.2l-6.4 -6.4v-9.2z", transform: `translate(${x} ${y})` }),
      s("path", { class: "stop-sign", d: "M-4 -4l8 8m0 -8l-8 8", transform: `translate(${x} ${y})` }),
    );
  }
  return group;
}

/** Where the line from the middle of `node` to the middle of `other` leaves its box. */
function border(node, other) {
  const [width, height] = node.kind === "agent" ? [TRAIN_W, TRAIN_H] : [SECTION_W, SECTION_H];
  const [dx, dy] = [other.x - node.x, other.y - node.y];
  const scale = 1 / Math.max(Math.abs(dx) / (width / 2 + 4), Math.abs(dy) / (height / 2 + 4), 1);
  return [node.x + dx * scale, node.y + dy * scale];
}
