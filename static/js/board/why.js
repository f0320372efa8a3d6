// Why an agent waits for a resource, and until when at the latest. Pure: what follows from the rule alone.

const conflict = (one, other) => one === "exclusive" || other === "exclusive";

/**
 * @typedef {"shared" | "exclusive"} Mode
 * @typedef {{holder: string, mode: Mode, expiresAt: string}} Lease instants in RFC 3339
 * @typedef {{actorDid: string, mode: Mode, offeredUntil?: string}} Waiter
 */

/**
 * The latest instant at which a waiter is offered the resource, if nobody renews: the leases in its way run out at
 * their time, and everyone ahead takes as long as they may, to claim and then to hold.
 *
 * @param {{holders: Lease[], queue: Waiter[]}} section
 * @param {number} now and the limits in milliseconds
 * @returns {{until: number, holders: Lease[], ahead: Waiter[], offered: boolean} | null} `holders` and `ahead`:
 *   what is in its way; null for an agent that does not wait there
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
  // When those in one mode, and those in the other, are gone for certain.
  const gone = { shared: now, exclusive: now };
  for (const { mode, expiresAt } of others) gone[mode] = Math.max(gone[mode], Date.parse(expiresAt));
  const free = (mode) => (mode === "exclusive" ? Math.max(gone.shared, gone.exclusive) : gone.exclusive);
  for (const wait of before) {
    const claim = wait.offeredUntil ? Date.parse(wait.offeredUntil) : free(wait.mode) + offerMs;
    gone[wait.mode] = Math.max(gone[wait.mode], claim + leaseTtlMs);
  }
  return { until: offered ? now : free(own.mode), holders, ahead, offered };
}

/**
 * The sole holder that asks for more has nobody ahead when its own lease holds back the first of the others.
 */
function upgrades({ holders, queue }, did) {
  const [lease] = holders;
  const first = queue.find(({ actorDid }) => actorDid !== did);
  return holders.length === 1 && lease.holder === did && Boolean(first) && conflict(lease.mode, first.mode);
}

/**
 * What an agent waits for, what its holder waits for, and so on: [{did, resource, holder}], at most `most`
 * long.
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
