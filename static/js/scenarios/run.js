// One run of a story: its agents and resources, the values it keeps, and its next step.

import { Refused } from "../lib/trial.js";
import { send } from "../lib/http.js";
import { operations } from "../lanzar/operations.js";
import { verify } from "../lib/receipt.js";

const LOOK_MS = 1300;
const WAIT_MS = 60_000;
const FREE = (picture, name) =>
  ![...picture.holders, ...picture.queue].some(({ resource }) => resource === name);

/** The live socket did not show in time what the story waits for. */
export class Unseen extends Error {}

export class Run {
  #at = 0;
  #kept = new Map();
  #receipts = [];

  /**
   * @param {{steps: any[], resources: string[]}} story one of STORIES
   * @param {{trial, live, signers, baseUrl}} page
   * @param {{checks, lanes, track}} views
   */
  constructor(story, page, views) {
    this.trial = page.trial;
    this.live = page.live;
    this.signers = page.signers;
    this.baseUrl = page.baseUrl;
    this.checks = views.checks;
    this.lanes = views.lanes;
    this.track = views.track;
    this.story = story;
    this.track.names = () => this.resources ?? [];
    this.watch = ({ detail }) => this.#see(detail.picture);
  }

  did = (agent) => this.agents[agent].did;
  resource = (index) => this.resources[index];
  kept = (name) => this.#kept.get(name);
  keep = (name, value) => this.#kept.set(name, value);
  check = (id, ok, values) => this.checks.set(id, ok, values);

  /** Which of the story's resources a lease or a wait is about; -1 for another. */
  names = ({ resource }) => this.resources.indexOf(resource);

  /** Takes the next step; returns the ms to show it, null after the last. Throws Refused, Unseen, Unreachable. */
  async take() {
    if (this.#at === 0) await this.#begin();
    const step = this.story.steps[this.#at];
    this.lanes.doing(this.#at);
    if (step.wait) await this.#wait(step);
    else await this.#call(step);
    this.#at += 1;
    if (this.#at < this.story.steps.length) return LOOK_MS;
    await this.#end();
    return null;
  }

  stop() {
    this.live.removeEventListener("picture", this.watch);
  }

  /** The agent's trust from the authority. This call is not counted. */
  async trust(agent) {
    const path = `/api/v1/acp/agents?did=${encodeURIComponent(this.did(agent))}`;
    const { body } = await send(this.baseUrl, { method: "GET", path }, this.agents[agent]);
    return body.trust ?? { expiries: 0 };
  }

  async #begin() {
    await this.signers.atLeast(2);
    this.agents = this.trial.identities.slice(0, 2);
    this.live.start();
    const { picture } = await this.#until((known) => known);
    this.resources = this.story.resources.map((name) => firstFree(picture, name));
    this.lanes.name(this.agents, this.resources);
    this.live.addEventListener("picture", this.watch);
    this.check("one_holder", undefined);
  }

  async #end() {
    this.check("receipts", this.#receipts.length > 0 && this.#receipts.every(Boolean), {
      n: this.#receipts.length,
    });
    // Waits until the effect of the last call is in the picture too.
    await this.#until(() => true).catch(() => null);
    if (this.checks.of("one_holder") !== false) this.check("one_holder", true);
    this.stop();
  }

  async #call(step) {
    const { operation, agent } = step;
    if (step.again) await this.#jitter();
    const members = { resource: this.resource(step.resource), actorDid: this.did(agent) };
    if (step.late) members.leaseId = this.kept("lease").leaseId;
    const request = { method: "POST", path: operations[operation].path, body: JSON.stringify(members) };
    const answer = await send(this.baseUrl, request, this.agents[agent]);
    this.trial.note(answer);
    const { body } = answer;
    if (!body || body.type) throw new Refused(answer);
    this.keep("waitMs", body.stampede?.waitMs ?? this.kept("waitMs"));
    const verification =
      body.receipt &&
      (await verify(body.receipt.jws, {
        issuer: this.baseUrl,
        kid: body.receipt.kid,
        digest: answer.signed.digest,
        answer: body,
      }));
    this.#receipts.push(Boolean(verification?.ok));
    await this.#shown(body);
    this.lanes.done(this.#at, body, verification);
    await step.judge?.(this, body);
  }

  /** A refused agent asks again after `waitMs` and a random time more. */
  async #jitter() {
    const waitMs = this.kept("waitMs") ?? 25;
    const later = waitMs * (1 + Math.random() / 2);
    this.lanes.comesBack(this.#at, waitMs, later);
    await new Promise((resolve) => setTimeout(resolve, later));
  }

  async #wait(step) {
    this.lanes.waits(this.#at, this.kept("lease").expiresAt);
    const seen = await this.#until((picture) => step.until(this, picture));
    this.lanes.done(this.#at, { wait: step.wait });
    await step.judge(this, null, seen);
  }

  /** Waits until the live picture shows the decision: the socket sends at most four messages a second. */
  async #shown(body) {
    const token = body.lease?.fencingToken;
    const seen = (picture) =>
      token
        ? picture.holders.some((lease) => this.names(lease) >= 0 && lease.fencingToken === token)
        : body.reason !== "lease_held" || picture.queue.some((wait) => this.names(wait) >= 0);
    await this.#until(seen, 3000).catch(() => null);
  }

  #until(test, ms = WAIT_MS) {
    const { live } = this;
    if (live.picture && test(live.picture)) {
      return Promise.resolve({ picture: live.picture, events: [] });
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(reject, new Unseen()), ms);
      const look = ({ detail }) => test(detail.picture) && settle(resolve, detail);
      const settle = (how, what) => {
        clearTimeout(timer);
        live.removeEventListener("picture", look);
        how(what);
      };
      live.addEventListener("picture", look);
    });
  }

  #see(picture) {
    for (const name of this.resources) {
      if (picture.holders.filter(({ resource }) => resource === name).length > 1) this.check("one_holder", false);
    }
    this.track.show(picture);
  }
}

/** The name itself, or the name with the first number with which no agent holds it or waits for it. */
function firstFree(picture, name) {
  let found = name;
  for (let number = 2; !FREE(picture, found); number += 1) found = `${name}-${number}`;
  return found;
}
