"""The core and the reference run side by side: every answer, every state and every event must be the same.

The core runs twice. *lazy* settles only when it is asked something. *eager* also settles at every instant
in between, like an expiry task that never sleeps. Neither may differ from the other or from the reference.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from coordination.core.decide import decide
from coordination.core.messages import (
    Acquire,
    Command,
    Deadlock,
    Ended,
    Event,
    Granted,
    Held,
    LimitReached,
    NotReleased,
    Outcome,
    Release,
    Released,
    ReturnUndelivered,
    Revoke,
    Withdraw,
)
from coordination.core.model import Outage, Rules
from coordination.core.settle import settle
from coordination.core.waitgraph import deadlocks, edges
from coordination.core.world import World

from .reference import Reference, has_cycle


class Trio:
    """A lazy core, an eager core and the reference, which get the same commands at the same times."""

    def __init__(self, rules: Rules, active_limit: int | None = None, start: int = 0):
        self.lazy, self.eager = World.of(rules), World.of(rules)
        self.lazy.active_limit = self.eager.active_limit = active_limit
        self.reference = Reference(rules, active_limit)
        self.reference.now = start

    @property
    def now(self) -> int:
        return self.reference.now

    def outage(self, until: int) -> None:
        """No process ran from now until `until`; from then on all three know of the outage."""
        self.reference.outages.append((self.now, until))
        self.lazy.outages = self.eager.outages = (*self.lazy.outages, Outage(self.now, until))

    def pass_time(self, now: int) -> None:
        for instant in range(self.now + 1, now + 1):
            settle(self.eager, instant)
        settle(self.lazy, now)
        self.reference.pass_time(now)
        self.check()

    def ask(self, now: int, command: Command) -> Outcome:
        for instant in range(self.now + 1, now + 1):
            settle(self.eager, instant)
        settle(self.lazy, now)
        outcome = decide(self.lazy, command, now)
        assert decide(self.eager, command, now) == outcome
        expected = ask_reference(self.reference, now, command)
        assert_same_outcome(outcome, expected)
        self.check()
        return outcome

    def check(self) -> None:
        reference = self.reference
        assert self.lazy.resources == self.eager.resources
        assert self.lazy.agents == self.eager.agents
        assert state_of(self.lazy) == state_of_reference(reference)
        assert self.lazy.active == reference.active_count()
        walked = {(w, r, b) for w in self.lazy.waiting for b, r in edges(self.lazy, w)}
        assert walked == reference.edges()
        assert not has_cycle(walked)
        assert_same_pairs(self.lazy, reference)
        happened = Counter(essence(event) for event in self.lazy.events)
        assert happened == Counter(essence(event) for event in self.eager.events)
        assert happened == Counter(reference.events)
        moments = [event.at for event in self.lazy.events]
        assert moments == sorted(moments)
        for world in (self.lazy, self.eager):
            world.events.clear()
        reference.events.clear()


def essence(event: Event) -> tuple[str, str, str, int]:
    return (event.kind.value, event.resource, event.agent, event.at)


# --- asking the reference -------------------------------------------------------------------------


def ask_reference(reference: Reference, now: int, command: Command) -> dict[str, Any]:
    match command:
        case Acquire(resource, mode, agent, lease_id, queue):
            return reference.acquire(now, resource, mode.value, agent, lease_id, queue)
        case Release(resource, agent, lease_id):
            return reference.release(now, resource, agent, lease_id)
        case Withdraw(resource, agent):
            return reference.withdraw(now, resource, agent)
        case Revoke(resource, lease_id) | ReturnUndelivered(resource, lease_id):
            expires_at = command.expires_at if isinstance(command, ReturnUndelivered) else None
            reference.pass_time(now)
            held = [
                h["agent"]
                for h in reference.holders.get(resource, [])
                if h["lease_id"] == lease_id and expires_at in (None, h["expires"])
            ]
            return reference.end_early(now, resource, held[0] if held else "", lease_id)


def assert_same_outcome(outcome: Outcome, expected: dict[str, Any]) -> None:
    """The core's outcome is the one that the reference expects."""
    if isinstance(outcome, Deadlock):
        chain = tuple((step.agent, step.waits_for) for step in outcome.cycle)
        assert expected["outcome"] == "deadlock"
        assert chain in expected["cycles"], (chain, expected)
        assert (outcome.holder, outcome.waiting_on) == chain[1]
        assert outcome.holder == expected["holder"]
        return
    assert outcome_in_plain(outcome) == expected


def outcome_in_plain(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Granted(_, lease, renewed):
            return {"outcome": "granted", "renewed": renewed, **lease_in_plain(lease)}
        case Held():
            return {
                "outcome": "held",
                "holder": outcome.holder,
                "offered": outcome.offered,
                "position": outcome.position,
                "kept_until": outcome.kept_until,
                "admitted": outcome.admitted,
                "wait_ms": outcome.wait_ms,
            }
        case Released():
            return {
                "outcome": "released",
                "token": outcome.token,
                "score": outcome.trust,
                "delta": outcome.delta,
            }
        case NotReleased(reason, holder):
            named = {"holder": holder} if reason == "not_held" else {}
            return {"outcome": "refused", "reason": reason.value, **named}
        case LimitReached():
            return {"outcome": "limit"}
        case Ended():
            return {"outcome": "ended", "ended": outcome.ended}
        case _:
            return {"outcome": "withdrawn", "withdrawn": outcome.withdrawn}


# --- states ---------------------------------------------------------------------------------------


def lease_in_plain(lease: Any) -> dict[str, Any]:
    return {
        "agent": lease.agent,
        "mode": lease.mode.value,
        "lease_id": lease.lease_id,
        "token": lease.token,
        "acquired": lease.acquired_at,
        "expires": lease.expires_at,
    }


def wait_in_plain(wait: Any) -> dict[str, Any]:
    return {
        "agent": wait.agent,
        "mode": wait.mode.value,
        "since": wait.since,
        "asked": wait.asked_at,
        "offered": wait.offered_at,
    }


def state_of(world: World) -> dict[str, Any]:
    return {
        "leases": {
            r.name: [lease_in_plain(x) for x in r.leases] for r in world.resources.values() if r.leases
        },
        "queues": {r.name: [wait_in_plain(x) for x in r.queue] for r in world.resources.values() if r.queue},
        "tokens": {r.name: r.last_token for r in world.resources.values() if r.last_token},
        "agents": {a.did: (a.trust, a.releases, a.expiries) for a in world.agents.values()},
    }


def state_of_reference(reference: Reference) -> dict[str, Any]:
    return {
        "leases": {name: leases for name, leases in reference.holders.items() if leases},
        "queues": {name: queue for name, queue in reference.queue.items() if queue},
        "tokens": reference.token,
        "agents": {
            did: (entry["score"], entry["releases"], entry["expiries"])
            for did, entry in reference.trust.items()
        },
    }


def assert_same_pairs(world: World, reference: Reference) -> None:
    shown = {(pair.agents[0], pair.resources[0], pair.at): pair for pair in deadlocks(world)}
    expected = {(pair["agent"], pair["resource"], pair["at"]): pair for pair in reference.deadlock_pairs()}
    assert shown.keys() == expected.keys()
    for key, pair in shown.items():
        chain = tuple((step.agent, step.waits_for) for step in pair.cycle)
        assert chain in expected[key]["cycles"]
        assert (pair.agents[1], pair.resources[1]) == chain[1]


SMALL = Rules(lease_ttl_ms=10, offer_ms=3, wait_ttl_ms=13, queue_limit=3)
"""Rules with short times: visiting every millisecond is cheap, and limits are reached often."""
