"""The wire form of core values: dictionaries of camelCase fields, instants as RFC 3339 in UTC.

Pure, so that the authority can fix an answer's bytes within the deciding transaction, and REST, MCP and the
pages return the same fields. A lease id appears only in answers to the lease's holder.
"""

from collections.abc import Iterable

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
    Step,
    Withdrawn,
)
from coordination.core.model import Lease, Resource, Rules, Wait
from coordination.core.waitgraph import DeadlockPair
from intramedial.http.formats import Json, rfc3339_of_ms

EXPIRED = "coordination.expire"
"""The claim `event` of the receipt for a lease that expired."""
REVOKED = "coordination.revoke"
"""The claim `event` of the receipt for a lease that was revoked."""
RETURNED_UNDELIVERED = "coordination.return_undelivered"
"""The same for a lease that ended because no caller received its grant."""
ENDED_EARLY = {REVOKED: "revoked", RETURNED_UNDELIVERED: "returned", "coordination.give_back": "ended"}
"""What pages call these ends. Their claim `outcome` is `released`. Early receipts, which are kept for good,
have one event for both."""


def body(resource: str, outcome: Outcome, rules: Rules) -> Json:
    """The answer's body without its receipt, for a command about `resource` (a base name).

    Every refusal names the resource, as a grant and a release do, so that its receipt says what was refused.
    REST and MCP answer LimitReached with a problem, not with this body.
    """
    match outcome:
        case Granted():
            return {"ok": True, "lease": _granted(outcome, rules)}
        case Held():
            return _held(resource, outcome)
        case Deadlock():
            return {
                "ok": False,
                "reason": outcome.reason.value,
                "resource": resource,
                "holder": outcome.holder,
                "waitingOn": outcome.waiting_on,
                "cycle": cycle(outcome.cycle),
            }
        case Released():
            released = {
                "leaseId": outcome.lease_id,
                "resource": outcome.resource,
                "fencingToken": outcome.token,
            }
            trust = {"score": float(outcome.trust), "delta": float(outcome.delta)}
            return {"ok": True, "released": released, "trust": trust}
        case NotReleased():
            refused: Json = {"ok": False, "reason": outcome.reason.value, "resource": resource}
            return refused if outcome.holder is None else {**refused, "holder": outcome.holder}
        case Withdrawn():
            return {"ok": True, "withdrawn": outcome.withdrawn}
        case Ended():
            return {"ok": True, "ended": outcome.ended}
        case LimitReached():
            return {"ok": False, "reason": "rate_limited", "limit": outcome.limit}


def _granted(outcome: Granted, rules: Rules) -> Json:
    lease = outcome.lease
    return {
        "leaseId": lease.lease_id,
        "resource": outcome.resource,
        "holder": lease.agent,
        "mode": lease.mode.value,
        "fencingToken": lease.token,
        "acquiredAt": rfc3339_of_ms(lease.acquired_at),
        "expiresAt": rfc3339_of_ms(lease.expires_at),
        "ttlMs": rules.lease_ttl_ms,
        "renewed": outcome.renewed,
    }


def _held(resource: str, outcome: Held) -> Json:
    fields: Json = {
        "ok": False,
        "reason": outcome.reason.value,
        "resource": resource,
        "holder": outcome.holder,
        "holders": list(outcome.holders),
        "offered": outcome.offered,
    }
    if outcome.expires_at is not None:
        fields["expiresAt"] = rfc3339_of_ms(outcome.expires_at)
    fields["queued"] = outcome.position is not None
    if outcome.position is not None and outcome.kept_until is not None:
        fields["position"] = outcome.position
        fields["keptUntil"] = rfc3339_of_ms(outcome.kept_until)
    fields["stampede"] = {"admitted": outcome.admitted, "waitMs": outcome.wait_ms}
    return fields


def cycle(steps: Iterable[Step]) -> list[Json]:
    return [{"agent": step.agent, "waitsFor": step.waits_for} for step in steps]


def receipt_names(command: Command, outcome: Outcome) -> tuple[str, str] | None:
    """The claims `event` and `outcome` of the receipt for an answer; None for one that has no receipt."""
    match command, outcome:
        case Acquire(), Granted():
            return "coordination.lease", "renewed" if outcome.renewed else "granted"
        case Acquire(), Held() | Deadlock():
            return "coordination.lease", outcome.reason.value
        case Release(), Released():
            return "coordination.release", "released"
        case Release(), NotReleased():
            return "coordination.release", outcome.reason.value
        case _:
            return None


def ended(happened: Event, lease: Lease) -> Json:
    """The `result` of a receipt for a lease that its agent did not release: it expired, was revoked or
    returned undelivered."""
    fields: Json = {
        "ok": True,
        happened.kind.value: {
            "leaseId": lease.lease_id,
            "resource": happened.resource,
            "holder": lease.agent,
            "mode": lease.mode.value,
            "fencingToken": lease.token,
            "acquiredAt": rfc3339_of_ms(lease.acquired_at),
            "expiresAt": rfc3339_of_ms(lease.expires_at),
        },
    }
    if happened.trust is not None:
        fields["trust"] = {"score": float(happened.trust.score), "delta": float(happened.trust.delta)}
    if happened.outage:
        fields["outage"] = True
    return fields


def event(happened: Event) -> Json:
    """One event for the live board. It has no lease id, because all of the workspace sees the board."""
    fields: Json = {
        "event": happened.kind.value,
        "resource": happened.resource,
        "actorDid": happened.agent,
        "at": rfc3339_of_ms(happened.at),
    }
    if happened.mode is not None:
        fields["mode"] = happened.mode.value
    if (lease := happened.lease) is not None:
        fields |= {"mode": lease.mode.value, "fencingToken": lease.token}
        fields |= {
            "acquiredAt": rfc3339_of_ms(lease.acquired_at),
            "expiresAt": rfc3339_of_ms(lease.expires_at),
        }
    if happened.until is not None:
        fields["until"] = rfc3339_of_ms(happened.until)
    if (refused := happened.deadlock) is not None:
        fields |= {"holder": refused.holder, "waitingOn": refused.waiting_on, "cycle": cycle(refused.cycle)}
    if (trust := happened.trust) is not None:
        fields["trust"] = {"score": float(trust.score), "delta": float(trust.delta)}
    if happened.outage:
        fields["outage"] = True
    return fields


def holder(resource: Resource, lease: Lease) -> Json:
    return {
        "resource": resource.name,
        "holder": lease.agent,
        "mode": lease.mode.value,
        "acquiredAt": rfc3339_of_ms(lease.acquired_at),
        "expiresAt": rfc3339_of_ms(lease.expires_at),
        "fencingToken": lease.token,
    }


def waiter(resource: Resource, wait: Wait, place: int, rules: Rules) -> Json:
    """One wait; `place` counts from 0."""
    fields: Json = {
        "resource": resource.name,
        "actorDid": wait.agent,
        "mode": wait.mode.value,
        "position": place + 1,
        "waitMs": rules.wait_ms(place),
        "since": rfc3339_of_ms(wait.since),
    }
    if wait.offered_at is not None:
        fields["offeredUntil"] = rfc3339_of_ms(wait.ends_at(rules))
    return fields


def deadlock(pair: DeadlockPair) -> Json:
    return {
        "agents": list(pair.agents),
        "resources": list(pair.resources),
        "cycle": cycle(pair.cycle),
        "at": rfc3339_of_ms(pair.at),
    }
