// The scenarios: four stories on the real authority, in the workspace of the visitor's trial.

import { h, icon } from "../lib/dom.js";
import { Unreachable } from "../lib/http.js";
import { Unable } from "../lib/keystore.js";
import { has, number, t } from "../lib/text.js";
import { Refused } from "../lib/trial.js";
import { Player } from "./player.js";
import { Run, Unseen } from "./run.js";
import { StampedeRun } from "./stampede.js";
import { STORIES } from "./stories.js";
import { Checks, Crowd, Lanes, Track } from "./views.js";

const CROWD = 50;
const STAMPEDE = {
  resources: ["file:reports/2026-01.csv"],
  checks: ["one_holder", "one_call", "fifty", "eight", "none_twice", "rises"],
};

/**
 * Shows the story `id` in `root`; its run begins when the visitor presses the button.
 * @param {{trial, live, signers, baseUrl}} page
 */
export function show(root, id, page, exports) {
  root.stage?.leave();
  root.stage = new Stage(root, id, page, exports);
}

class Stage {
  constructor(root, id, page, exports) {
    this.root = root;
    this.id = id;
    this.page = page;
    this.exports = exports;
    this.crowded = id === "stampede";
    this.story = this.crowded ? STAMPEDE : STORIES[id];
    this.calls = this.crowded ? 1 : this.story.steps.filter((step) => step.operation).length;
    this.status = h("p", { class: "story-status", role: "status" });
    this.stage = h("div", { class: `story-stage ${this.crowded ? "is-crowded" : ""}` });
    root.replaceChildren(h("p", { class: "prose story-words" }, t(`sc_${id}_words`)), this.#controls(), this.stage);
    this.counted = () => this.#draw();
    page.trial.addEventListener("change", this.counted);
    this.#prepare();
  }

  leave() {
    this.player.pause();
    this.run.stop();
    this.page.trial.removeEventListener("change", this.counted);
  }

  #controls() {
    this.main = h("button", { type: "button", class: "button is-main", "data-part": "run", onclick: () => this.#press() });
    this.next = h("button", { type: "button", class: "button", "data-part": "step", onclick: () => this.#steps() }, t("sc_step"));
    const speeds = Player.speeds.map((speed) =>
      h("label", {}, h("input", { type: "radio", name: "speed", value: speed, checked: speed === 1 }), h("span", {}, `${speed === 0.5 ? "½" : speed}×`)),
    );
    const chooser = h("fieldset", { class: "speeds" }, h("legend", {}, t("sc_speed")), speeds);
    chooser.addEventListener("change", ({ target }) => (this.player.speed = Number(target.value)));
    this.cost = h("p", { class: "quiet story-cost" });
    return h("div", { class: "story-controls" }, this.main, this.next, chooser, this.cost, this.status);
  }

  #prepare() {
    const { id, page, story } = this;
    const names = (did) => page.signers.nameOf(did) || this.#crowdName(did);
    const checks = new Checks(id, story.checks);
    const track = new Track(names, story.resources);
    const lanes = this.crowded ? new Crowd(CROWD) : new Lanes(story);
    const views = { checks, track, lanes, crowd: lanes };
    this.run?.stop();
    this.run = new (this.crowded ? StampedeRun : Run)(story, page, views);
    this.checks = checks;
    const speed = this.player?.speed ?? 1;
    this.player = new Player(() => this.run.take());
    this.player.speed = speed;
    this.player.addEventListener("change", () => this.#draw());
    this.stage.replaceChildren(
      this.#column("lanes", t(this.crowded ? "sc_crowd" : "sc_lanes"), lanes.element),
      this.#column("track", t("sc_track"), track.element),
      this.#column("checks", t("sc_checks"), checks.element, this.#exported()),
    );
    this.status.textContent = "";
    this.#draw();
  }

  #column(name, title, ...children) {
    return h("div", { class: `story-${name}-part` }, h("h3", {}, title), children);
  }

  #crowdName(did) {
    const index = this.run?.agents?.indexOf?.(did) ?? -1;
    return this.crowded && index >= 0 ? t("sc_crowd_name", { n: number(index + 1) }) : "";
  }

  #exported() {
    const links = this.exports[this.id].map(({ name, url }) =>
      h("a", { href: url, download: "" }, name),
    );
    return h("p", { class: "story-exports quiet" }, t("sc_export"), " ", links.flatMap((link, index) => (index ? [" · ", link] : [link])));
  }

  #press() {
    if (this.player.busy) return this.player.pause();
    if (["done", "failed"].includes(this.player.state)) this.#prepare();
    return this.main.disabled ? null : this.player.run();
  }

  #steps() {
    if (this.next.getAttribute("aria-disabled") !== "true") this.player.step();
  }

  #draw() {
    const { state, busy } = this.player;
    const { trial } = this.page;
    const begun = trial.identities.length > 0;
    // Only agents of a trial can play: a workspace registers its agents itself, one by one.
    const adopted = Boolean(trial.adopted);
    const short = adopted || (state === "ready" && begun && trial.callsLeft < this.calls);
    const word = { ready: "run", paused: "go_on", done: "again", failed: "again" }[state] ?? "pause";
    this.main.replaceChildren(t(`sc_${word}`));
    this.main.disabled = short;
    // The button is marked but not disabled: a disabled button would lose the focus between two steps.
    this.next.setAttribute("aria-disabled", String(busy || short || ["done", "failed"].includes(state)));
    this.cost.textContent = t(adopted ? "sc_adopted" : short ? "sc_too_short" : "sc_cost", { n: this.calls, calls: number(this.calls), left: number(trial.callsLeft) });
    this.stage.dataset.state = state;
    if (state === "done") this.#report(this.checks.allHold ? "sc_all_hold" : "sc_some_fail", this.checks.allHold);
    if (state === "failed") this.#failed(this.player.error);
  }

  #failed(error) {
    const reason =
      error instanceof Refused ? error.answer.body?.reason
      : error instanceof Unreachable ? "unreachable"
      : error instanceof Unable ? `unable_${error.reason}`
      : error instanceof Unseen ? "unseen"
      : null;
    if (!reason) throw error;
    const words = has(`problem_${reason}`)
      ? `${t(`problem_${reason}`)} ${t("mend")} ${t(`problem_${reason}_mend`)}`
      : `${t("problem_unknown")} (${reason})`;
    this.status.replaceChildren(icon("cross", "is-stop"), ` ${words}`);
  }

  #report(key, ok) {
    this.status.replaceChildren(icon(ok ? "check" : "cross", ok ? "is-go" : "is-stop"), ` ${t(key)}`);
  }
}
