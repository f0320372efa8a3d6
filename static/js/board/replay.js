// Replays a deadlock step by step: the leases, the waits, and the request that was refused.

import { h, put } from "../lib/dom.js";
import { number, shortDid, t } from "../lib/text.js";

const STEP_MS = 1100;

/** The steps in which a cycle comes about: [{edge, words}]; `edge` is the index of an edge of the drawing. */
export function steps(cycle) {
  const { length } = cycle;
  const holds = cycle.map(({ waitsFor: resource }, at) => ({
    edge: 2 * at + 1,
    words: ["bd_step_holds", { did: shortDid(cycle[(at + 1) % length].agent), resource }],
  }));
  const waits = cycle.slice(1).map(({ agent, waitsFor: resource }, at) => ({
    edge: 2 * at + 2,
    words: ["bd_step_waits", { did: shortDid(agent), resource }],
  }));
  const [{ agent, waitsFor: resource }] = cycle;
  return [...holds, ...waits, { edge: 0, words: ["bd_step_refused", { did: shortDid(agent), resource }] }];
}

/**
 * A button that shows the steps in `svg`, whose edges are in the order of the cycle, and a line of text with the
 * current step.
 */
export function replay(svg, cycle) {
  const status = h("p", { class: "quiet", role: "status" });
  const edges = [...svg.querySelectorAll(".edge")];
  const all = steps(cycle);
  let timer = null;

  function show(at) {
    const drawn = new Set(all.slice(0, at + 1).map(({ edge }) => edge));
    for (const [index, edge] of edges.entries()) edge.toggleAttribute("data-later", !drawn.has(index));
    if (at < 0) return;
    put(status, `${number(at + 1)}. ${t(...all[at].words)}`);
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
  return h("div", { class: "replay" }, button, status);
}
