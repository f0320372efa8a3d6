// Leases and waits of the last minute by resource, from events: what the train graph draws. Pure.

export const WINDOW_MS = 60_000;
const RUNS_KEPT = 40;
const LANES_KEPT = 200;

/**
 * A lane is of one resource: {resource, runs: [{token, did, from, to, end}], waits: [{did, from, to}],
 * marks: [{at, until, kind}], at}. A run is a lease; `to` is null while it lasts.
 */
export class Runs {
  lanes = new Map();

  note(events, picture) {
    for (const event of events) this.#apply(event, picture);
  }

  /** Applies a snapshot: a lease or wait that is not in it ended without an event. */
  begin(picture, now) {
    for (const { resource, runs, waits } of this.lanes.values()) {
      const section = picture.sections.get(resource) ?? { holders: [], queue: [] };
      const tokens = new Set(section.holders.map(({ fencingToken }) => fencingToken));
      const queued = new Set(section.queue.map(({ actorDid }) => actorDid));
      for (const run of runs)
        if (!run.to && !tokens.has(run.token)) Object.assign(run, { to: now, end: "unseen" });
      for (const wait of waits) if (!wait.to && !queued.has(wait.did)) wait.to = now;
    }
  }

  /** Removes what is older than the window. */
  forget(now) {
    const since = now - WINDOW_MS;
    for (const lane of this.lanes.values()) {
      const seen = ({ to }) => !to || to > since;
      lane.runs = lane.runs.filter(seen).slice(-RUNS_KEPT);
      lane.waits = lane.waits.filter(seen).slice(-RUNS_KEPT);
      lane.marks = lane.marks.filter(({ until }) => until > since).slice(-RUNS_KEPT);
      if (lane.at < since && !lane.runs.length && !lane.waits.length) this.lanes.delete(lane.resource);
    }
    for (const name of this.lanes.keys()) {
      if (this.lanes.size <= LANES_KEPT) break;
      this.lanes.delete(name);
    }
  }

  #lane(resource, at, picture) {
    let lane = this.lanes.get(resource);
    if (!lane) {
      lane = { resource, runs: [], waits: [], marks: [], at };
      const { holders, queue } = picture.sections.get(resource) ?? { holders: [], queue: [] };
      for (const held of holders) open(lane, held, held.holder);
      for (const { actorDid, since } of queue)
        lane.waits.push({ did: actorDid, from: Date.parse(since), to: null });
    }
    lane.at = at;
    // Lanes are in the order of their last event: the first ones are removed first.
    this.lanes.delete(resource);
    this.lanes.set(resource, lane);
    return lane;
  }

  #apply(event, picture) {
    const at = Date.parse(event.at);
    const lane = this.#lane(event.resource, at, picture);
    const did = event.actorDid;
    switch (event.event) {
      case "granted":
      case "renewed":
        open(lane, event, did);
        if (event.event === "granted") leave(lane, did, at);
        break;
      case "released":
      case "expired":
        Object.assign(open(lane, event, did), { to: at, end: event.event });
        break;
      case "queued":
        if (!lane.waits.some((wait) => wait.did === did && !wait.to))
          lane.waits.push({ did, from: at, to: null });
        break;
      case "withdrawn":
      case "lapsed":
        leave(lane, did, at);
        break;
      case "offered":
        lane.marks.push({ kind: "offered", did, at, until: Date.parse(event.until) });
        break;
      case "deadlock":
        lane.marks.push({ kind: "deadlock", did, at, until: at });
        break;
    }
  }
}

function open(lane, { fencingToken: token, acquiredAt }, did) {
  let run = lane.runs.find((one) => one.token === token && one.did === did);
  if (!run) {
    run = { token, did, from: Date.parse(acquiredAt), to: null, end: null };
    for (const other of lane.runs)
      if (other.did === did && !other.to) Object.assign(other, { to: run.from, end: "replaced" });
    lane.runs.push(run);
  }
  return run;
}

function leave(lane, did, at) {
  for (const wait of lane.waits) if (wait.did === did && !wait.to) wait.to = at;
  for (const mark of lane.marks) if (mark.did === did && mark.until > at) mark.until = at;
}
