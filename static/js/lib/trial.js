// The visitor's trial: a key, some calls, some days. States: none → creating → active → exhausted → expired;
// unable if the browser cannot make a key; adopted once a person has made its workspace their own.

import { serverNow } from "./clock.js";
import { send } from "./http.js";
import { KeyStore, makeKey } from "./keystore.js";
import { agentProof } from "./signing.js";

const PREFIX = "/api/v1/trial";

/** The service refused a request; `answer` is its answer. */
export class Refused extends Error {
  /** Whether the request was the one that begins a trial. */
  beginning = false;

  constructor(answer) {
    super(answer.body?.reason ?? `status ${answer.status}`);
    this.answer = answer;
  }
}

/** Fires `change` when its state or its figures change, and then `elsewhere` if another page changed them. */
export class Trial extends EventTarget {
  #store = new KeyStore();
  #record = null;
  #creating = null;
  #problem = null;

  constructor(baseUrl) {
    super();
    this.baseUrl = baseUrl;
    // This page must not undo what another page did with the key, such as adopting the trial.
    this.#store.addEventListener("change", async () => {
      if (this.#creating) return;
      await this.load();
      this.dispatchEvent(new Event("elsewhere"));
    });
  }

  get state() {
    if (this.#problem) return "unable";
    if (this.#creating) return "creating";
    if (!this.#record) return "none";
    if (this.adopted) return "adopted";
    if (this.#record.expired || Date.parse(this.#record.expiresAt) <= serverNow()) return "expired";
    return this.callsLeft <= 0 ? "exhausted" : "active";
  }

  /** Why the state is `unable`. */
  get problem() {
    return this.#problem;
  }

  /** The agents of this trial with their keys; the first one is the agent that began it. */
  get identities() {
    return this.#record?.identities ?? [];
  }

  /** Where the key is: `stored`; or, as long as the page is open, in `memory`, or `library` if a library signs. */
  get keeping() {
    if (this.identities.some(({ sign }) => sign)) return "library";
    return this.#store.kept ? "stored" : "memory";
  }

  /** The `ws_…` of the workspace that the trial has become; its calls are no longer counted. */
  get adopted() {
    return this.#record?.adopted;
  }

  get callsLimit() {
    return this.#record?.callsLimit ?? 0;
  }

  get callsLeft() {
    if (this.adopted) return Infinity;
    return Math.max(0, this.callsLimit - (this.#record?.callsUsed ?? 0));
  }

  get expiresAt() {
    return this.#record?.expiresAt;
  }

  async load() {
    this.#record = await this.#store.load();
    this.#changed();
  }

  /** The agent that began the trial. The first call makes and registers its key. Throws Unable, Refused, Unreachable. */
  async ensure() {
    if (!this.#record) {
      this.#creating ??= this.#create().finally(() => {
        this.#creating = null;
        this.#changed();
      });
      this.#changed();
      await this.#creating;
    }
    return this.identities[0];
  }

  async #create() {
    let identity;
    try {
      identity = await makeKey();
    } catch (error) {
      this.#problem = error.reason;
      throw error;
    }
    const answer = await this.#begin(identity);
    this.#record = { identities: [identity], ...figures(answer.body) };
    await this.#store.save(this.#record);
  }

  async #begin(identity) {
    try {
      return await this.#post("/keys", { did: identity.did }, identity);
    } catch (error) {
      if (error instanceof Refused) error.beginning = true;
      throw error;
    }
  }

  /** Adds an agent to the trial, with a proof that this page has its key. */
  async addAgent() {
    const [own] = this.identities;
    const identity = await makeKey();
    const proof = await agentProof(identity, own.did, this.baseUrl, serverNow());
    await this.#post("/agents", { did: identity.did, proof }, own);
    this.#record = { ...this.#record, identities: [...this.identities, identity] };
    await this.#store.save(this.#record);
    this.#changed();
    return identity;
  }

  /** A ticket, which opens one live socket. */
  async ticket() {
    const answer = await this.#post("/ticket", {}, this.identities[0]);
    return answer.body.ticket;
  }

  async #post(path, body, identity) {
    const request = { method: "POST", path: PREFIX + path, body: JSON.stringify(body) };
    const answer = await send(this.baseUrl, request, identity);
    if (answer.status >= 300) {
      this.note(answer);
      throw new Refused(answer);
    }
    return answer;
  }

  /** Learns from an answer how many calls are left (RateLimit, an IETF draft) and whether the trial has ended. */
  note(answer) {
    if (!this.#record) return;
    const left = /;\s*r=(\d+)/.exec(answer.headers.get("ratelimit") ?? "");
    const reason = answer.body?.reason;
    const record = { ...this.#record };
    if (left) record.callsUsed = record.callsLimit - Number(left[1]);
    if (reason === "trial_exhausted") record.callsUsed = record.callsLimit;
    if (reason === "trial_expired") record.expired = true;
    this.#record = record;
    this.#store.save(record);
    this.#changed();
  }

  async forget() {
    await this.#store.forget();
    this.#record = null;
    this.#problem = null;
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

const figures = ({ workspace, callsLimit, callsUsed, expiresAt }) => ({
  workspace,
  callsLimit,
  callsUsed,
  expiresAt,
});
