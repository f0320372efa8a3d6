// A deadlock again, one step after the other: who has what, who waits, and the request that was refused.

import { h } from "../lib/dom.js";
import { number, t } from "../lib/text.js";
import { put, short } from "./words.js";

const STEP_MS = 1100;

/** The steps in the order in which a circle comes about: {edge, words}; `edge` counts the drawing's edges. */
export function steps(cycle) {
  const { length } = cycle;
  const holds = cycle.map(({ waitsFor: resource }, at) => ({
    edge: 2 * at + 1,
    words: ["bd_step_holds", { did: short(cycle[(at + 1) % length].agent), resource }],
  }));
  const waits = cycle.slice(1).map(({ agent, waitsFor: resource }, at) => ({
    edge: 2 * at + 2,
    words: ["bd_step_waits", { did: short(agent), resource }],
  }));
  const [{ agent, waitsFor: resource }] = cycle;
  return [...holds, ...waits, { edge: 0, words: ["bd_step_refused", { did: short(agent), resource }] }];
}

/**
 * A button that shows the steps in `svg`, whose edges stand in the order of the circle, and a line that
 * tells them.
 */
export function replay(svg, cycle) {
  const told = h("p", { class: "quiet", role: "status" });
  const edges = [...svg.querySelectorAll(".edge")];
  const all = steps(cycle);
  let timer = null;

  function show(at) {
    const drawn = new Set(all.slice(0, at + 1).map(({ edge }) => edge));
    for (const [index, edge] of edges.entries()) edge.toggleAttribute("data-later", !drawn.has(index));
    if (at < 0) return;
    put(told, `${number(at + 1)}. ${t(...all[at].words)}`);
  }

  function play() {
    clearInterval(timer);
    let at = 0;
    show(at);
    timer = setInterval(() => {
      at += 1;
      if (at < all.length) show(at);
      else clearInterval(timer);
    }, STEP_MS);
  }

  const button = h("button", { type: "button", class: "button", onclick: play }, t("bd_replay"));
  return h("div", { class: "replay" }, button, told);
}
