"""A second implementation of the lease rules: slow, plain, and written without looking at
`coordination/core`.

It keeps lists of dicts, computes everything from the rule each time it is asked, and lets time pass by
visiting every single millisecond. Where two correct programs may differ (which of several equally short
cycles is shown) it lists all of them. Tests compare it with the real core, so that two independent
implementations of the same text must agree.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise, permutations, product

from coordination.core.model import Rules  # the constants alone

SHARED, EXCLUSIVE = "shared", "exclusive"

Edge = tuple[str, str, str]  # waiter, resource, blocker
Chain = tuple[tuple[str, str], ...]  # (agent, the resource it waits for), one entry for each agent


def conflict(one: str, other: str) -> bool:
    return not (one == SHARED and other == SHARED)


class Reference:
    """One workspace. Times are integer milliseconds; an outage is a pair (since, until]."""

    def __init__(self, rules: Rules, active_limit: int | None = None):
        self.rules, self.active_limit, self.now = rules, active_limit, 0
        self.outages: list[tuple[int, int]] = []
        self.holders: dict[str, list[dict]] = {}
        self.queue: dict[str, list[dict]] = {}
        self.token: dict[str, int] = {}
        self.trust: dict[str, dict] = {}
        self.refusals: dict[tuple[str, str], dict] = {}
        self.events: list[tuple] = []

    # --- time -------------------------------------------------------------------------------------------

    def pass_time(self, now: int) -> None:
        """Visit every instant after the last one, up to and including `now`."""
        for instant in range(self.now + 1, now + 1):
            self._instant(instant)
        self.now = now

    def _instant(self, t: int) -> None:
        away = next((until for since, until in self.outages if since < t <= until), None)
        for resource in list(self.holders):
            self._leases_end(resource, t, away)
        for resource in list(self.queue):
            self._waits_end(resource, t, away)
        self._make_offers(t)

    def _leases_end(self, resource: str, t: int, away: int | None) -> None:
        for lease in list(self.holders[resource]):
            if lease["expires"] == t:
                self.holders[resource].remove(lease)
                if away is None:
                    self._move_trust(lease["agent"], self.rules.trust_expiry, "expiries")
                self.events.append(("expired", resource, lease["agent"], t))

    def _waits_end(self, resource: str, t: int, away: int | None) -> None:
        queue = self.queue[resource]
        ending = [w for w in queue if w["offered"] is not None and w["offered"] + self.rules.offer_ms == t]
        ended = [w for w in queue if w["offered"] is None and w["asked"] + self.rules.wait_ttl_ms == t]
        if away is not None:
            for wait in ending:
                wait["offered"] = away
            for wait in ended:
                wait["asked"] = away
            return
        for lapsed in ending:
            ended += [w for w in queue if w is lapsed or w["asked"] < lapsed["offered"]]
        for wait in list(queue):
            if any(wait is other for other in ended):
                queue.remove(wait)
                self.events.append(("lapsed", resource, wait["agent"], t))

    def _make_offers(self, t: int) -> None:
        for resource, queue in self.queue.items():
            for wait in queue:
                free = not self.blockers(resource, wait["agent"], wait["mode"])
                if wait["offered"] is None and free:
                    wait["offered"] = t
                    self.events.append(("offered", resource, wait["agent"], t))
                assert free or wait["offered"] is None, "an offer was withdrawn"

    # --- the one rule -----------------------------------------------------------------------------------

    def lease_of(self, resource: str, agent: str) -> dict | None:
        return next((h for h in self.holders.get(resource, []) if h["agent"] == agent), None)

    def wait_of(self, resource: str, agent: str) -> dict | None:
        return next((w for w in self.queue.get(resource, []) if w["agent"] == agent), None)

    def waiters_ahead(self, resource: str, agent: str) -> list[dict]:
        queue = self.queue.get(resource, [])
        others = [w for w in queue if w["agent"] != agent]
        holders = self.holders.get(resource, [])
        sole = len(holders) == 1 and holders[0]["agent"] == agent
        if sole and others and conflict(holders[0]["mode"], others[0]["mode"]):
            return []
        own = self.wait_of(resource, agent)
        return others if own is None else queue[: queue.index(own)]

    def blocking_holders(self, resource: str, agent: str, mode: str) -> list[str]:
        return [
            h["agent"]
            for h in self.holders.get(resource, [])
            if h["agent"] != agent and conflict(h["mode"], mode)
        ]

    def blockers(self, resource: str, agent: str, mode: str) -> list[str]:
        """Holders first, then waiters in queue order; no agent twice."""
        ahead = [w["agent"] for w in self.waiters_ahead(resource, agent) if conflict(w["mode"], mode)]
        return list(dict.fromkeys(self.blocking_holders(resource, agent, mode) + ahead))

    # --- the wait-for graph -----------------------------------------------------------------------------

    def edges(self) -> set[tuple[str, str, str]]:
        """All (waiter, resource, blocker)."""
        return {
            (wait["agent"], resource, blocker)
            for resource, queue in self.queue.items()
            for wait in queue
            for blocker in self.blockers(resource, wait["agent"], wait["mode"])
        }

    def cycles(self, resource: str, agent: str, first: str) -> list[Chain]:
        return shortest_cycles(self.edges(), agent, resource, first)

    def deadlock(self, resource: str, agent: str, mode: str) -> dict | None:
        """The refusal as a deadlock that this request must get. Its `cycles` are all acceptable chains.

        Blocking holders come before blocking waiters (a reader that waits to write blocks another reader
        only by its wait). Then the shortest cycle comes first, then grant order or queue order.
        """
        holding = self.blocking_holders(resource, agent, mode)
        candidates = []
        for order, blocker in enumerate(self.blockers(resource, agent, mode)):
            cycles = self.cycles(resource, agent, blocker)
            if cycles:
                candidates.append((blocker not in holding, len(cycles[0]), order, blocker, cycles))
        if not candidates:
            return None
        best = min(candidates, key=lambda c: c[:3])
        return {"outcome": "deadlock", "holder": best[3], "cycles": best[4]}

    # --- what may be asked ------------------------------------------------------------------------------

    def acquire(self, now, resource, mode, agent, lease_id, queue=True) -> dict:
        self.pass_time(now)
        lease, wait = self.lease_of(resource, agent), self.wait_of(resource, agent)
        if lease and lease["mode"] in (mode, EXCLUSIVE):
            lease["expires"] = now + self.rules.lease_ttl_ms
            self._answered(resource, agent, lease["mode"])
            self.events.append(("renewed", resource, agent, now))
            return {"outcome": "granted", "renewed": True, **lease}
        if not self._active(resource) and self.active_count() == self.active_limit:
            return {"outcome": "limit"}
        if wait and wait["mode"] != mode:
            self._leave(now, resource, agent)
            wait = None
        if not self.blockers(resource, agent, mode):
            return self._grant(now, resource, mode, agent, lease_id)
        refused = self.deadlock(resource, agent, mode)
        if refused:
            self._leave(now, resource, agent)
            self.refusals[resource, agent] = {"mode": mode, "holder": refused["holder"], "at": now}
            self.events.append(("deadlock", resource, agent, now))
            self._make_offers(now)
            return refused
        return self._refuse_held(now, resource, mode, agent, queue)

    def _grant(self, now, resource, mode, agent, lease_id) -> dict:
        self._know(agent)
        self.token[resource] = self.token.get(resource, 0) + 1
        lease = {
            "agent": agent,
            "mode": mode,
            "lease_id": lease_id,
            "token": self.token[resource],
            "acquired": now,
            "expires": now + self.rules.lease_ttl_ms,
        }
        self.queue[resource] = [w for w in self.queue.get(resource, []) if w["agent"] != agent]
        kept = [h for h in self.holders.get(resource, []) if h["agent"] != agent]
        self.holders[resource] = [*kept, lease]
        self._answered(resource, agent, mode)
        self.events.append(("granted", resource, agent, now))
        self._make_offers(now)
        return {"outcome": "granted", "renewed": False, **lease}

    def _refuse_held(self, now, resource, mode, agent, queue) -> dict:
        self._answered(resource, agent, mode)
        waits = self.queue.setdefault(resource, [])
        wait = self.wait_of(resource, agent)
        if wait:
            wait["asked"] = now
        elif queue and len(waits) < self.rules.queue_limit:
            wait = {"agent": agent, "mode": mode, "since": now, "asked": now, "offered": None}
            waits.append(wait)
            self._know(agent)
            self.events.append(("queued", resource, agent, now))
        self._make_offers(now)
        named = self.blocking_holders(resource, agent, mode)
        anyone = [h["agent"] for h in self.holders.get(resource, []) if h["agent"] != agent]
        offered = [w["agent"] for w in waits if w["offered"] is not None]
        ahead = waits.index(wait) if wait else len(waits)
        return {
            "outcome": "held",
            "holder": (named or anyone or offered)[0],
            "offered": not (named or anyone),
            "position": ahead + 1 if wait else None,
            "kept_until": now + self.rules.wait_ttl_ms if wait else None,
            "admitted": len(waits),
            "wait_ms": min(self.rules.stampede_cap_ms, self.rules.stampede_base_ms * 2**ahead),
        }

    def release(self, now, resource, agent, lease_id=None) -> dict:
        self.pass_time(now)
        lease = self.lease_of(resource, agent)
        if lease_id is not None and (lease is None or lease["lease_id"] != lease_id):
            return {"outcome": "refused", "reason": "stale_lease"}
        if lease is None:
            others = [h["agent"] for h in self.holders.get(resource, [])]
            return {"outcome": "refused", "reason": "not_held", "holder": others[0] if others else None}
        self.holders[resource].remove(lease)
        before = self.trust[agent]["score"]
        self._move_trust(agent, self.rules.trust_release, "releases")
        self.events.append(("released", resource, agent, now))
        self._make_offers(now)
        score = self.trust[agent]["score"]
        return {"outcome": "released", "token": lease["token"], "score": score, "delta": score - before}

    def end_early(self, now, resource, agent, lease_id) -> dict:
        """A lease is revoked or returned undelivered: no trust moves, and a lease with another id is left
        alone."""
        self.pass_time(now)
        lease = self.lease_of(resource, agent)
        if lease is None or lease["lease_id"] != lease_id:
            return {"outcome": "ended", "ended": False}
        self.holders[resource].remove(lease)
        self.events.append(("released", resource, agent, now))
        self._make_offers(now)
        return {"outcome": "ended", "ended": True}

    def withdraw(self, now, resource, agent) -> dict:
        self.pass_time(now)
        waited = self._leave(now, resource, agent)
        self._make_offers(now)
        refusal = self.refusals.pop((resource, agent), None)
        listed = refusal is not None and now - refusal["at"] < self.rules.wait_ttl_ms
        return {"outcome": "withdrawn", "withdrawn": waited or listed}

    def _leave(self, now, resource, agent) -> bool:
        wait = self.wait_of(resource, agent)
        if wait:
            self.queue[resource].remove(wait)
            self.events.append(("withdrawn", resource, agent, now))
        return wait is not None

    # --- the live picture -------------------------------------------------------------------------------

    def _answered(self, resource, agent, mode) -> None:
        """Forget a refusal once its agent has got another answer to the same request or to a stronger one."""
        refusal = self.refusals.get((resource, agent))
        if refusal and mode in (refusal["mode"], EXCLUSIVE):
            del self.refusals[resource, agent]

    def deadlock_pairs(self) -> list[dict]:
        """Refusals that would still close a cycle: through the agent that blocked them at the time, or else
        through the agent that would block them now."""
        pairs = []
        for (resource, agent), refusal in self.refusals.items():
            wished = refusal["mode"]
            lease = self.lease_of(resource, agent)
            had = lease is not None and lease["mode"] in (wished, EXCLUSIVE)
            if had or self.wait_of(resource, agent) or self.now - refusal["at"] >= self.rules.wait_ttl_ms:
                continue
            cycles = []
            if refusal["holder"] in self.blockers(resource, agent, wished):
                cycles = self.cycles(resource, agent, refusal["holder"])
            if not cycles:
                cycles = (self.deadlock(resource, agent, wished) or {"cycles": []})["cycles"]
            if cycles:
                pairs.append({"resource": resource, "agent": agent, "at": refusal["at"], "cycles": cycles})
        return pairs

    # --- small things -----------------------------------------------------------------------------------

    def _active(self, resource: str) -> bool:
        return bool(self.holders.get(resource) or self.queue.get(resource))

    def active_count(self) -> int:
        return sum(self._active(r) for r in {*self.holders, *self.queue})

    def _know(self, agent: str) -> None:
        self.trust.setdefault(agent, {"score": self.rules.trust_start, "releases": 0, "expiries": 0})

    def _move_trust(self, agent: str, by: Decimal, count: str) -> None:
        entry = self.trust[agent]
        entry["score"] = min(Decimal(100), max(Decimal(0), entry["score"] + by))
        entry[count] += 1


# --- cycles, found by trying all orderings of the agents ----------------------------------------------------


def shortest_cycles(edges: set[Edge], agent: str, resource: str, first: str) -> list[Chain]:
    """All shortest chains from `agent`, which waits for `first` on `resource`, back to `agent`."""
    others = sorted({waiter for waiter, _, _ in edges} - {agent, first})
    for length in range(len(others) + 1):
        found: list[Chain] = []
        for middle in permutations(others, length):
            way = (first, *middle, agent)
            choices = [
                [r for waiter, r, blocker in edges if (waiter, blocker) == pair] for pair in pairwise(way)
            ]
            for through in product(*choices):
                found.append(((agent, resource), *zip(way, through, strict=False)))
        if found:
            return found
    return []


def has_cycle(edges: set[Edge]) -> bool:
    """Whether some agent waits for itself. Repeat: remove the agents that wait for no other agent."""
    left = {(waiter, blocker) for waiter, _, blocker in edges}
    while True:
        waiting = {waiter for waiter, _ in left}
        kept = {(waiter, blocker) for waiter, blocker in left if blocker in waiting}
        if kept == left:
            return bool(left)
        left = kept
