// The views of a run: the agents' lanes, the resources and their queues, the crowd, and the checks.

import "../elements/short-did.js";
import { h, icon } from "../lib/dom.js";
import { byResource } from "../lib/picture.js";
import { data, duration, number, t } from "../lib/text.js";
import { Sections } from "../parts/sections.js";

const { queueLimit } = data("limits");
const letter = (index) => String.fromCharCode(65 + index);

/** The checks of a story: each is pending, then ticked or crossed out. */
export class Checks {
  element = h("ul", { class: "checklist", role: "list" });
  #states = new Map();

  constructor(story, ids) {
    this.story = story;
    this.items = new Map(ids.map((id) => [id, h("li", { "data-check": id })]));
    this.element.append(...this.items.values());
    for (const id of ids) this.#draw(id);
  }

  /** `ok` undefined: the check holds so far and is not decided yet. */
  set(id, ok, values = {}) {
    this.#states.set(id, { ok, values });
    this.#draw(id);
  }

  of(id) {
    return this.#states.get(id)?.ok;
  }

  get allHold() {
    return [...this.items.keys()].every((id) => this.of(id) === true);
  }

  #draw(id) {
    const { ok, values } = this.#states.get(id) ?? {};
    const item = this.items.get(id);
    const word = { true: "holds", false: "fails", undefined: "sc_pending" }[String(ok)];
    const seen = Object.keys(values ?? {}).length > 0;
    item.dataset.ok = String(ok);
    item.className = ok === true ? "is-go" : ok === false ? "is-stop" : "";
    const numbers = Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, shown(value)]));
    item.replaceChildren(
      icon({ true: "check", false: "cross", undefined: "pending" }[String(ok)]),
      h(
        "span",
        { class: "what" },
        t(`sc_${this.story}_${id}`, { queue: number(queueLimit) }),
        h("span", { class: "visually-hidden" }, `: ${t(word)}`),
      ),
      seen ? h("span", { class: "why" }, t(`sc_${this.story}_${id}_seen`, numbers)) : "",
    );
  }
}

const shown = (value) => (typeof value === "number" ? number(value, Number.isInteger(value) ? 0 : 1) : value);

/** The steps of a story, each in the lane of its agent. */
export class Lanes {
  element = h("div", { class: "lanes" });

  constructor(story) {
    this.heads = [0, 1].map((index) => h("p", { class: "lane-head" }, h("b", {}, t("agent_name", { letter: letter(index) }))));
    this.steps = story.steps.map((step, index) => this.#step(step, index, story.resources));
    this.element.append(
      h("div", { class: "lane-heads" }, this.heads),
      h("ol", { class: "lane-steps", role: "list" }, this.steps),
    );
  }

  name(agents, resources) {
    agents.forEach(({ did }, index) => {
      this.heads[index].querySelector("short-did")?.remove();
      this.heads[index].append(" ", h("short-did", { value: did, brief: true }));
    });
    for (const step of this.steps) {
      const code = step.querySelector("code");
      if (code) code.textContent = resources[Number(step.dataset.resource)];
    }
  }

  doing(index) {
    this.steps[index].dataset.state = "doing";
  }

  comesBack(index, waitMs, later) {
    this.#write(index, h("span", { class: "quiet" }, t("sc_comes_back", { told: duration(waitMs), later: duration(later) })));
  }

  waits(index, until) {
    this.#write(index, h("span", {}, t("sc_left"), " ", h("count-down", { until })));
  }

  done(index, body, verification) {
    const step = this.steps[index];
    step.dataset.state = "done";
    step.dataset.ok = String(body.ok ?? true);
    this.#write(index, ...outcome(body));
    if (verification) {
      step.querySelector(".said").append(
        h(
          "span",
          { class: `receipt-mark ${verification.ok ? "is-go" : "is-stop"}` },
          icon(verification.ok ? "check" : "cross"),
          t(verification.ok ? "sc_receipt_ok" : "sc_receipt_bad"),
        ),
      );
    }
  }

  #step({ agent, operation, wait, resource, late }, index, resources) {
    const words = wait ? `sc_wait_${wait}` : `sc_do_${operation}${late ? "_late" : ""}`;
    const values = { letter: letter(agent) };
    return h(
      "li",
      { class: "lane-step", "data-lane": wait ? "both" : letter(agent), "data-state": "todo", "data-resource": resource },
      h(
        "p",
        { class: "does" },
        h("span", { class: "step-number" }, number(index + 1)),
        h("span", { class: "visually-hidden" }, `${t("agent_name", values)}: `),
        `${t(words, values)} `,
        h("code", {}, resources[resource]),
      ),
      h("p", { class: "said" }),
    );
  }

  #write(index, ...words) {
    this.steps[index].querySelector(".said").replaceChildren(h("span", { class: "heard" }, words));
  }
}

function outcome(body) {
  const mark = (name, sign) => icon(name, sign);
  if (body.wait) return [mark("signal-go", "is-go"), h("span", {}, t(`sc_said_${body.wait}`))];
  if (body.lease) {
    return [
      mark("signal-go", "is-go"),
      h("span", { class: "staff" }, t("token", { token: number(body.lease.fencingToken) })),
    ];
  }
  if (body.released) {
    return [mark("signal-go", "is-go"), h("span", {}, t("sc_said_released", { score: number(body.trust.score, 1) }))];
  }
  const values = {};
  if (body.reason === "lease_held") {
    values.place = number(body.position ?? 0);
    values.wait = duration(body.stampede.waitMs);
  }
  const sign = body.reason === "deadlock" ? "cross" : "signal-stop";
  return [mark(sign, "is-stop"), h("span", {}, t(`sc_said_${body.reason}`, values))];
}

/** The resources of the story as sections of track. */
export class Track {
  #sections;
  /** @type {() => string[]} */
  names = () => [];

  constructor(nameOf, resources) {
    this.#sections = new Sections(nameOf);
    this.element = h("div", { class: "story-track" }, this.#sections.element);
    this.#sections.show(resources.map((resource) => ({ resource, holders: [], queue: [] })));
  }

  /** Shows the resources that `names()` returns, held or free, from a picture. */
  show(picture) {
    const known = new Map(byResource(picture).map((section) => [section.resource, section]));
    this.#sections.show(
      this.names().map((resource) => known.get(resource) ?? { resource, holders: [], queue: [] }),
    );
  }
}

// `told`: refused, with the time after which to ask again.
const CROWD_STATES = ["holds", "queued", "told", "done"];

/** Many agents, each a square that shows its last answer by shape, sign and text. */
export class Crowd {
  element = h("div", { class: "crowd-part" });
  #states = [];

  constructor(size) {
    this.cells = Array.from({ length: size }, (_, index) =>
      h("li", { "data-state": "none" }, h("b", {}, String(index + 1)), h("span", { class: "sign" })),
    );
    this.counts = new Map(CROWD_STATES.map((state) => [state, h("b", {}, "0")]));
    this.sum = h("p", { class: "quiet" }, t("sc_crowd_ready"));
    this.element.append(
      h("ol", { class: "crowd", role: "list", "aria-label": t("sc_crowd") }, this.cells),
      h(
        "ul",
        { class: "crowd-legend", role: "list" },
        CROWD_STATES.map((state) =>
          h("li", { "data-state": state }, h("span", { class: "sample", "aria-hidden": "true" }), this.counts.get(state), ` ${t(`sc_crowd_${state}`)}`),
        ),
      ),
      this.sum,
    );
  }

  begin() {
    this.sum.textContent = t("sc_crowd_runs");
  }

  set(agent, state, wait) {
    const cell = this.cells[agent - 1];
    cell.dataset.state = state;
    cell.lastChild.textContent = state === "told" ? duration(wait) : "";
    cell.title = t(`sc_cell_${state}`, { agent: number(agent), wait: wait && duration(wait) });
    this.#states[agent] = state;
    for (const [name, count] of this.counts) {
      count.textContent = number(this.#states.filter((other) => other === name).length);
    }
  }

  /** The agents in the queue, in order. */
  places(queue) {
    queue.forEach((agent, index) => {
      const cell = this.cells[agent - 1];
      const place = number(index + 1);
      cell.lastChild.textContent = t("sc_cell_place", { place });
      cell.title = t("sc_cell_queued", { agent: number(agent), place });
    });
  }

  end(asks) {
    this.sum.textContent = t("sc_crowd_end", { asks: number(asks) });
  }
}
