// The drawing of a cycle of waits, as trains on a single track: agents are trains, resources are the sections that
// they hold, and the refused request is at a stop signal.

import { s } from "../lib/dom.js";
import { shorten, t } from "../lib/text.js";

/** A longer cycle is drawn with a gap. */
export const DRAWN = 6;
/**
 * Measures of the drawing, wide and on a narrow screen, where text keeps its size. `letters`: how many fit into a
 * train. `alone`: how many fit into a section with nothing beside it.
 */
const WIDE = { width: 560, height: 300, train: [136, 34], section: [156, 26], letters: 15, alone: 44 };
const NARROW = { width: 336, height: 320, train: [104, 32], section: [116, 26], letters: 11, alone: 34 };
const LETTER = 8;
/** Up to so many nodes are on an ellipse. More are in two rows that bend outwards, with room for the edges. */
const ROUND = 4;
const STEP = 78;

/**
 * The nodes of a cycle in order: an agent, the resource it waits for, the agent that holds it, and so on. Pure.
 * @param {{agent: string, waitsFor: string}[]} cycle beginning with the refused request
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

/** @param {{agent: string, waitsFor: string}[]} cycle @param {string} title for screen readers */
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

/** The size of a node, and its name shortened to fit. On the ellipse, sections are above and below the trains. */
function boxOf({ kind, name }, count, { train, section, letters, alone }) {
  if (kind === "gap") return { width: section[0], height: section[1], words: name };
  if (kind === "agent") return { width: train[0], height: train[1], words: fitted(nameOf(name), letters) };
  if (count > ROUND) return { width: section[0], height: section[1], words: fitted(name, letters + 2) };
  const words = fitted(name, alone);
  return { width: Math.max(section[0], words.length * LETTER + 24), height: section[1], words };
}

const sizeFor = (count, size) =>
  count <= ROUND ? size : { ...size, height: Math.ceil(count / 2) * STEP - STEP + 2 * size.section[1] + 12 };

/** Clockwise from the left: around an ellipse, or up one row and down the other. */
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

/** The last part of a DID: DIDs differ there. */
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
 * The edge from one node to the next: dashes where an agent waits for a resource, rails where an agent holds it.
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

/** Where the line from the middle of `node` to the middle of `other` leaves the box of `node`. */
function border(node, other) {
  const { width, height } = node;
  const [dx, dy] = [other.x - node.x, other.y - node.y];
  const scale = 1 / Math.max(Math.abs(dx) / (width / 2 + 4), Math.abs(dy) / (height / 2 + 4), 1);
  return [node.x + dx * scale, node.y + dy * scale];
}
