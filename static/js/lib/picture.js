// The board's picture and what each event does to it. Shapes as in GET wait: holders, queue, deadlocks.

/** @returns {{holders: object[], queue: object[], deadlocks: object[], trust: object, counters: object}} */
export function fromSnapshot({ holders, queue, deadlocks, trust, counters }) {
  return { holders: [...holders], queue: [...queue], deadlocks: [...deadlocks], trust, counters };
}

const HANDLERS = {
  granted: hold,
  renewed: hold,
  released: letGo,
  expired: letGo,
  withdrawn: leave,
  lapsed: leave,
  queued(picture, event) {
    leave(picture, event);
    picture.queue.push({
      resource: event.resource,
      actorDid: event.actorDid,
      mode: event.mode,
      since: event.at,
    });
  },
  offered(picture, event) {
    const wait = picture.queue.find(is(event.resource, event.actorDid));
    if (wait) wait.offeredUntil = event.until;
  },
  deadlock(picture, event) {
    leave(picture, event);
    const agents = [event.actorDid, event.holder];
    const resources = [event.resource, event.waitingOn];
    const pair = { agents, resources, cycle: event.cycle, at: event.at };
    const others = picture.deadlocks.filter(
      (other) => other.agents[0] !== agents[0] || other.resources[0] !== resources[0],
    );
    picture.deadlocks = [...others, pair];
  },
};

/**
 * Changes `picture` by one event; unknown events change nothing. An event told twice does no harm: it sets the state
 * of one agent on one resource.
 */
export function apply(picture, event) {
  HANDLERS[event.event]?.(picture, event);
}

/** The picture by resource, in the order of their names: {resource, holders, queue}. */
export function byResource(picture) {
  const found = new Map();
  const of = (name) => {
    if (!found.has(name)) found.set(name, { resource: name, holders: [], queue: [] });
    return found.get(name);
  };
  for (const lease of picture.holders) of(lease.resource).holders.push(lease);
  for (const wait of picture.queue) of(wait.resource).queue.push(wait);
  return [...found.values()].sort((a, b) => (a.resource < b.resource ? -1 : 1));
}

const is = (resource, agent) => (wait) => wait.resource === resource && wait.actorDid === agent;

function hold(picture, event) {
  const { resource, actorDid: holder, mode, fencingToken, acquiredAt, expiresAt } = event;
  const lease = { resource, holder, mode, fencingToken, acquiredAt, expiresAt };
  const place = picture.holders.findIndex((other) => other.resource === resource && other.holder === holder);
  if (place >= 0) picture.holders[place] = lease;
  else picture.holders.push(lease);
  if (event.event === "granted") leave(picture, event);
}

function letGo(picture, event) {
  picture.holders = picture.holders.filter(
    (lease) => !(lease.resource === event.resource && lease.holder === event.actorDid),
  );
}

function leave(picture, event) {
  const matches = is(event.resource, event.actorDid);
  picture.queue = picture.queue.filter((wait) => !matches(wait));
}
