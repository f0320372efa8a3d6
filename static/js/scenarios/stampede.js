// The stampede: the server plays the agents in one call and returns one line for each answer. The lines are played back
// here, at any speed, and their answers are counted.

import { Refused } from "../lib/trial.js";
import { serverNow } from "../lib/clock.js";
import { stream } from "../lib/http.js";
import { data } from "../lib/text.js";

const PATH = "/api/v1/acp/coordination/scenarios/stampede";
const { queueLimit } = data("limits");
const RESOURCE = "file:reports/2026-01.csv";

export class StampedeRun {
  #lines = null;
  #before = 0;
  #queue = [];
  #holder = null;
  #asked = new Set();
  #granted = new Map();

  /**
   * @param {{trial, live, signers, baseUrl}} page
   * @param {{checks, crowd, track}} views
   */
  constructor(_, page, views) {
    this.trial = page.trial;
    this.live = page.live;
    this.signers = page.signers;
    this.baseUrl = page.baseUrl;
    this.checks = views.checks;
    this.crowd = views.crowd;
    this.track = views.track;
    this.track.names = () => [RESOURCE];
  }

  /** Plays the next line; returns its time after the line before (ms), null after the last. Throws Refused. */
  async take() {
    this.#lines ??= await this.#begin();
    const { value: line, done } = await this.#lines.next();
    if (done) return null;
    if (line.type === "problem") throw new Refused({ status: 200, body: line, headers: new Headers() });
    const pause = (line.ms ?? 0) - this.#before;
    this.#before = line.ms ?? 0;
    if (line.type === "begins") this.agents = line.agents;
    if (line.type === "answer") this.#answer(line);
    if (line.type === "ends") this.#end(line);
    return pause;
  }

  stop() {}

  async #begin() {
    await this.signers.atLeast(1);
    this.live.start();
    const left = this.trial.callsLeft;
    const request = { method: "POST", path: PATH, body: JSON.stringify({ resource: RESOURCE }) };
    const answer = await stream(this.baseUrl, request, this.trial.identities[0]);
    this.trial.note(answer);
    if (answer.status !== 200) throw new Refused(answer);
    this.check("one_call", this.trial.callsLeft === left - 1, { before: left, after: this.trial.callsLeft });
    this.check("one_holder", undefined);
    this.check("eight", undefined);
    this.crowd.begin();
    return answer.lines;
  }

  check = (id, ok, values) => this.checks.set(id, ok, values);

  #answer({ agent, operation, answer }) {
    if (operation === "release") {
      this.#holder = null;
      this.crowd.set(agent, "done");
    } else if (answer.ok) {
      this.#grant(agent, answer.lease);
    } else {
      this.#refusal(agent, answer);
    }
    this.#asked.add(agent);
    if (this.#asked.size === this.agents.length) this.check("fifty", true, { n: this.#asked.size });
    this.#show();
  }

  #grant(agent, lease) {
    if (this.#holder) this.check("one_holder", false);
    this.#holder = lease;
    this.#queue = this.#queue.filter((wait) => wait.agent !== agent);
    this.#granted.set(agent, (this.#granted.get(agent) ?? 0) + 1);
    this.token = { ...this.token, last: lease.fencingToken };
    this.token.first ??= lease.fencingToken;
    this.crowd.set(agent, "holds");
  }

  #refusal(agent, { queued, stampede }) {
    if (stampede.admitted > queueLimit) this.check("eight", false);
    const waits = this.#queue.some((wait) => wait.agent === agent);
    if (queued && !waits) this.#queue.push({ agent, actorDid: this.agents[agent - 1], resource: RESOURCE });
    this.crowd.set(agent, queued ? "queued" : "told", stampede.waitMs);
  }

  #end({ asks, grants }) {
    const { checks } = this;
    for (const id of ["one_holder", "eight"]) if (checks.of(id) !== false) this.check(id, true);
    const each = [...this.#granted.values()];
    this.check("none_twice", each.length === this.agents.length && each.every((times) => times === 1));
    this.check("rises", this.token?.last - this.token?.first === grants - 1, {
      before: this.token?.first,
      after: this.token?.last,
    });
    this.crowd.end(asks);
  }

  #show() {
    const holders = this.#holder ? [this.#holder] : [];
    if (this.#holder?.expiresAt < new Date(serverNow()).toISOString()) holders.pop();
    this.crowd.places(this.#queue.map((wait) => wait.agent));
    this.track.show({ holders, queue: this.#queue });
  }
}
