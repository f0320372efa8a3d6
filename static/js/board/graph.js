// The drawing of a circle of waits, in the language of the single track: agents are trains, resources are
// the sections that they hold, and the request that was refused stands at a signal that says stop.

import { shorten } from "../lib/did.js";
import { t } from "../lib/text.js";

const SVG = "http://www.w3.org/2000/svg";
/** More agents than this are drawn as a gap. */
export const DRAWN = 6;
/**
 * Measures of the drawing: as it is, and on a narrow screen, where its words keep their size. `alone`: of the letters
 * of a section that has nothing beside it.
 */
const WIDE = { width: 560, height: 300, train: [136, 34], section: [156, 26], letters: 15, alone: 44 };
const NARROW = { width: 336, height: 320, train: [104, 32], section: [116, 26], letters: 11, alone: 34 };
const LETTER = 8;
/** So many stand on an ellipse; more stand in two rows that bend outwards, with room for what joins them. */
const ROUND = 4;
const STEP = 78;

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

/** @param {{agent: string, waitsFor: string}[]} cycle @param {string} title what the drawing is of */
export function drawing(cycle, title) {
  const all = nodes(cycle);
  const size = sizeFor(all.length, matchMedia("(width < 40rem)").matches ? NARROW : WIDE);
  const places = all.map((node, index) => ({
    ...node,
    ...placeOf(index, all.length, size),
    ...boxOf(node, all.length, size),
  }));
  const box = `0 0 ${size.width} ${size.height}`;
  const svg = s("svg", { class: "circle-drawing", viewBox: box, role: "img", "aria-label": title });
  svg.append(...places.map((node, index) => edge(node, places[(index + 1) % places.length], index === 0)));
  for (const node of places) svg.append(NODES[node.kind](node));
  return svg;
}

/** How large a node is, and its name as it fits in there. On the ellipse sections are above and below the trains. */
function boxOf({ kind, name }, count, { train, section, letters, alone }) {
  if (kind === "gap") return { width: section[0], height: section[1], words: name };
  if (kind === "agent") return { width: train[0], height: train[1], words: fitted(nameOf(name), letters) };
  if (count > ROUND) return { width: section[0], height: section[1], words: fitted(name, letters + 2) };
  const words = fitted(name, alone);
  return { width: Math.max(section[0], words.length * LETTER + 24), height: section[1], words };
}

const sizeFor = (count, size) =>
  count <= ROUND ? size : { ...size, height: Math.ceil(count / 2) * STEP - STEP + 2 * size.section[1] + 12 };

/** Clockwise, beginning on the left: round an ellipse, or up one row and down the other. */
function placeOf(index, count, { width, height, section }) {
  const [rx, ry] = [width / 2 - section[0] / 2 - 4, height / 2 - section[1] - 6];
  if (count <= ROUND) {
    const angle = Math.PI + (index / count) * 2 * Math.PI;
    return { x: width / 2 + rx * Math.cos(angle), y: height / 2 + ry * Math.sin(angle) };
  }
  const left = Math.ceil(count / 2);
  const [side, rows, row] = index < left ? [-1, left, left - 1 - index] : [1, count - left, index - left];
  const bend = Math.sin(((row + 0.5) / rows) * Math.PI);
  const down = (row / (rows - 1)) * 2 - 1;
  return { x: width / 2 + side * rx * (0.75 + 0.25 * bend), y: height / 2 + ry * down };
}

/** What tells one DID from another stands at its end. */
const nameOf = (did) => did.split(":").at(-1);
const fitted = (text, most) => shorten(text, Math.ceil(most / 2), Math.floor(most / 2) - 1);

const NODES = {
  agent({ x, y, name, width, height, words }) {
    const nose = 14;
    const front = `l${nose} ${height / 2}l${-nose} ${height / 2}`;
    const d = `M${-width / 2} ${-height / 2}h${width - nose}${front}h${nose - width}z`;
    return s(
      "g",
      { class: "train-node", transform: `translate(${x} ${y})` },
      s("title", {}, name),
      s("path", { d }),
      s("text", { x: -6, y: 4.5 }, words),
    );
  },
  resource: ({ x, y, name, width, height, words }) =>
    s(
      "g",
      { class: "section-node", transform: `translate(${x} ${y})` },
      s("title", {}, name),
      s("rect", { x: -width / 2, y: -height / 2, width, height, rx: height / 2 }),
      s("text", { y: 4.5 }, words),
    ),
  gap: ({ x, y, words }) =>
    s(
      "g",
      { class: "gap-node", transform: `translate(${x} ${y})` },
      s("text", { y: 4.5 }, t("bd_gap", { n: words })),
    ),
};

/**
 * From one node to the next. An agent waits for a resource: dashes. A resource is held by an agent: rails.
 */
function edge(from, to, refused) {
  const waits = from.kind === "agent";
  const [x1, y1] = border(from, to);
  const [x2, y2] = border(to, from);
  const group = s("g", {
    class: `edge ${waits ? "is-wait" : "is-held"} ${refused ? "is-refused" : ""}`.trim(),
  });
  group.append(s("path", { class: "line", d: `M${x1} ${y1}L${x2} ${y2}` }));
  if (!waits) group.append(s("path", { class: "between", d: `M${x1} ${y1}L${x2} ${y2}` }));
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const there = `translate(${x2} ${y2}) rotate(${angle})`;
  if (waits) group.append(s("path", { class: "head", d: "M0 0l-9 -4.5v9z", transform: there }));
  if (refused) {
    const middle = `translate(${(x1 + x2) / 2} ${(y1 + y2) / 2})`;
    const octagon = "M-4.6 -11h9.2l6.4 6.4v9.2l-6.4 6.4h-9.2l-6.4 -6.4v-9.2z";
    group.append(
      s("path", { class: "stop", d: octagon, transform: middle }),
      s("path", { class: "stop-sign", d: "M-4 -4l8 8m0 -8l-8 8", transform: middle }),
    );
  }
  return group;
}

/** Where the line from the middle of `node` to the middle of `other` leaves its box. */
function border(node, other) {
  const { width, height } = node;
  const [dx, dy] = [other.x - node.x, other.y - node.y];
  const scale = 1 / Math.max(Math.abs(dx) / (width / 2 + 4), Math.abs(dy) / (height / 2 + 4), 1);
  return [node.x + dx * scale, node.y + dy * scale];
}
