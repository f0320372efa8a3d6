// The picture of a workspace and what each message changes: leases and waits, by resource and by agent. Shapes are
// those of GET wait. An event that comes twice changes nothing the second time.

const AGENTS_KEPT = 20_000;

/** A resource: {resource, holders, queue}, the queue in order. An agent: {did, trust, holds, waits}, by resource. */
export class Picture {
  sections = new Map();
  agents = new Map();
  deadlocks = [];
  /** What changed since the last `take`: names of resources, DIDs. `null`: everything. */
  changed = null;
  changedAgents = null;

  constructor({ holders, queue, deadlocks, trust = {} }) {
    for (const lease of holders) this.#hold(lease);
    for (const { resource, actorDid, mode, since, offeredUntil } of queue) {
      this.#wait({ resource, actorDid, mode, since, ...(offeredUntil && { offeredUntil }) });
    }
    for (const [did, known] of Object.entries(trust)) this.#agent(did).trust = known.score;
    this.deadlocks = deadlocks;
  }

  /** Applies an `events` message. */
  receive({ events, deadlocks }) {
    for (const event of events) this.apply(event);
    // There is no event for the end of a deadlock: the whole list comes when it has changed.
    if (deadlocks) this.deadlocks = deadlocks;
  }

  apply(event) {
    const { resource, actorDid: did, trust } = event;
    HANDLERS[event.event]?.call(this, event, resource, did);
    if (trust) this.#agent(did).trust = trust.score;
    this.#touch(resource, did);
  }

  /** Returns what changed since the last call: {names, dids}, each null for everything. */
  take() {
    const { changed: names, changedAgents: dids } = this;
    this.changed = new Set();
    this.changedAgents = new Set();
    return { names, dids };
  }

  get holders() {
    return [...this.sections.values()].flatMap(({ holders }) => holders);
  }

  get queue() {
    return [...this.sections.values()].flatMap(({ queue }) => queue);
  }

  get counters() {
    let holders = 0;
    let waiters = 0;
    for (const section of this.sections.values()) {
      holders += section.holders.length;
      waiters += section.queue.length;
    }
    return { resources: this.sections.size, holders, waiters, deadlocks: this.deadlocks.length };
  }

  /** Whether a lease that should have expired before `instant` (RFC 3339) is still in the picture. */
  overdue(instant) {
    for (const { holders } of this.sections.values()) {
      for (const { expiresAt } of holders) if (expiresAt < instant) return true;
    }
    return false;
  }

  #section(name) {
    let section = this.sections.get(name);
    if (!section) this.sections.set(name, (section = { resource: name, holders: [], queue: [] }));
    return section;
  }

  #agent(did) {
    let agent = this.agents.get(did);
    if (!agent) {
      this.agents.set(did, (agent = { did, trust: null, holds: new Map(), waits: new Map() }));
      if (this.agents.size > AGENTS_KEPT) this.#forget();
    }
    return agent;
  }

  /** Removes the oldest agent that holds nothing and waits for nothing. */
  #forget() {
    for (const { did, holds, waits } of this.agents.values()) {
      if (!holds.size && !waits.size) return this.agents.delete(did);
    }
    return false;
  }

  #hold(lease) {
    const { holders } = this.#section(lease.resource);
    const place = holders.findIndex(({ holder }) => holder === lease.holder);
    if (place >= 0) holders[place] = lease;
    else holders.push(lease);
    this.#agent(lease.holder).holds.set(lease.resource, lease);
  }

  #wait(wait) {
    const { queue } = this.#section(wait.resource);
    if (queue.some(({ actorDid }) => actorDid === wait.actorDid)) return;
    queue.push(wait);
    this.#agent(wait.actorDid).waits.set(wait.resource, wait);
  }

  #touch(resource, did) {
    const section = this.sections.get(resource);
    if (section && !section.holders.length && !section.queue.length) this.sections.delete(resource);
    this.changed?.add(resource);
    this.changedAgents?.add(did);
  }

  granted(event, resource, did) {
    this.renewed(event, resource, did);
    this.lapsed(event, resource, did);
    for (const wait of this.#section(resource).queue) {
      if (event.mode === "exclusive" || wait.mode === "exclusive") delete wait.offeredUntil;
    }
  }

  renewed({ mode, fencingToken, acquiredAt, expiresAt }, resource, did) {
    this.#hold({ resource, holder: did, mode, acquiredAt, expiresAt, fencingToken });
  }

  released(_, resource, did) {
    const section = this.sections.get(resource);
    if (section) section.holders = section.holders.filter(({ holder }) => holder !== did);
    this.agents.get(did)?.holds.delete(resource);
  }

  queued({ mode, at }, resource, did) {
    this.#wait({ resource, actorDid: did, mode, since: at });
  }

  lapsed(_, resource, did) {
    const section = this.sections.get(resource);
    if (section) section.queue = section.queue.filter(({ actorDid }) => actorDid !== did);
    this.agents.get(did)?.waits.delete(resource);
  }

  offered({ until }, resource, did) {
    const wait = this.sections.get(resource)?.queue.find(({ actorDid }) => actorDid === did);
    if (wait) wait.offeredUntil = until;
  }
}

const { granted, renewed, released, queued, lapsed, offered } = Picture.prototype;
const HANDLERS = {
  granted,
  renewed,
  released,
  expired: released,
  queued,
  withdrawn: lapsed,
  lapsed,
  offered,
};

/** Leases and waits by resource, in the order of names: [{resource, holders, queue}]. */
export function byResource({ holders, queue }) {
  const found = new Map();
  const of = (name) => {
    if (!found.has(name)) found.set(name, { resource: name, holders: [], queue: [] });
    return found.get(name);
  };
  for (const lease of holders) of(lease.resource).holders.push(lease);
  for (const wait of queue) of(wait.resource).queue.push(wait);
  return [...found.values()].sort((a, b) => (a.resource < b.resource ? -1 : 1));
}
