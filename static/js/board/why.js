// Why an agent waits for a resource, and until when at the latest. Pure: it applies the rules of the core.

const conflict = (one, other) => one === "exclusive" || other === "exclusive";

/**
 * @typedef {"shared" | "exclusive"} Mode
 * @typedef {{holder: string, mode: Mode, expiresAt: string}} Lease instants in RFC 3339
 * @typedef {{actorDid: string, mode: Mode, offeredUntil?: string}} Waiter
 */

/**
 * The latest instant at which a waiter is offered the resource, if no holder renews: the leases in its way expire, and
 * each waiter ahead takes the longest time to claim its offer and then to hold its lease.
 *
 * @param {{holders: Lease[], queue: Waiter[]}} section
 * @param {number} now and the limits in milliseconds
 * @returns {{until: number, holders: Lease[], ahead: Waiter[], offered: boolean} | null} `holders` and `ahead`:
 *   its blockers; null for an agent that does not wait there
 */
export function why(section, did, now, { leaseTtlMs, offerMs }) {
  const place = section.queue.findIndex(({ actorDid }) => actorDid === did);
  if (place < 0) return null;
  const own = section.queue[place];
  const others = section.holders.filter(({ holder }) => holder !== did);
  const holders = others.filter(({ mode }) => conflict(mode, own.mode));
  const before = upgrades(section, did) ? [] : section.queue.slice(0, place);
  const ahead = before.filter(({ mode }) => conflict(mode, own.mode));
  const offered = Boolean(own.offeredUntil) && Date.parse(own.offeredUntil) > now;
  // The latest end of all shared leases, and of all exclusive ones.
  const end = { shared: now, exclusive: now };
  for (const { mode, expiresAt } of others) end[mode] = Math.max(end[mode], Date.parse(expiresAt));
  const free = (mode) => (mode === "exclusive" ? Math.max(end.shared, end.exclusive) : end.exclusive);
  for (const wait of before) {
    const claim = wait.offeredUntil ? Date.parse(wait.offeredUntil) : free(wait.mode) + offerMs;
    end[wait.mode] = Math.max(end[wait.mode], claim + leaseTtlMs);
  }
  return { until: offered ? now : free(own.mode), holders, ahead, offered };
}

/**
 * Whether the only holder asks for the other mode and goes first, because its own lease blocks the first other waiter.
 */
function upgrades({ holders, queue }, did) {
  const [lease] = holders;
  const first = queue.find(({ actorDid }) => actorDid !== did);
  return holders.length === 1 && lease.holder === did && Boolean(first) && conflict(lease.mode, first.mode);
}

/**
 * What an agent waits for, what the holder of that waits for, and so on: at most `most` of
 * {did, resource, holder}.
 */
export function chain(picture, did, most = 8) {
  const links = [];
  const seen = new Set();
  for (let at = did; at && !seen.has(at) && links.length < most;) {
    seen.add(at);
    const [wait] = picture.agents.get(at)?.waits.values() ?? [];
    if (!wait) break;
    const holder = picture.sections.get(wait.resource)?.holders.find((lease) => lease.holder !== at);
    links.push({ did: at, resource: wait.resource, holder: holder?.holder ?? null });
    at = holder?.holder;
  }
  return links;
}
