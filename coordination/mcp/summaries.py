"""Short texts for a model that may see nothing else of an answer: what it means, and what to do next.

Names that other agents chose are shortened, put in quotation marks and marked as data.
"""

from typing import Any

import orjson

from coordination.mcp.schemas import UNTRUSTED
from intramedial.http.formats import Json

LONGEST_NAME = 96
MOST_NAMES = 5
MOST_LINES = 20


def quoted(name: str) -> str:
    """A name that another agent chose, shortened, in quotation marks that it cannot end."""
    if len(name) > LONGEST_NAME:
        name = name[: LONGEST_NAME - 1] + "…"
    return orjson.dumps(name).decode()


def failed(body: Json) -> str:
    """Summary of a problem. Wrong arguments are for the model to correct."""
    text = f"Failed, {body['reason']}: {body['detail']}"
    if body["reason"] in ("invalid_request", "malformed_json", "too_large"):
        text = text.rstrip(".") + ". Nothing was done: correct the arguments and call again."
    return text


def acquired(body: Json) -> str:
    """Summary of a lease granted or renewed, or of a refusal."""
    if not body["ok"]:
        return _held(body) if body["reason"] == "lease_held" else _deadlock(body)
    lease = body["lease"]
    done = "Renewed" if lease["renewed"] else "Granted"
    return (
        f"{done}: you hold {quoted(lease['resource'])} ({lease['mode']}) until {lease['expiresAt']}, for "
        f"{lease['ttlMs'] / 1000:g} s, with fencing token {lease['fencingToken']}. Acquire again before then "
        "to keep it; release it as soon as you are done."
    )


def _held(body: Json) -> str:
    stampede = body["stampede"]
    if body["offered"]:
        who = f"It is free, but kept for a moment for {quoted(body['holder'])}, who is first in line."
    else:
        who = f"Held by {_listed(body['holders'])} until {body['expiresAt']} at the latest."
    if body["queued"]:
        place = (
            f"You are number {body['position']} in the queue. Do something else, and acquire again in "
            f"{stampede['waitMs']} ms or later, but before {body['keptUntil']}, or you lose your place."
        )
    else:
        place = (
            f"The queue is full ({stampede['admitted']} wait) and you are not in it. Do something else, and "
            f"acquire again in {stampede['waitMs']} ms or later."
        )
    return f"Refused, lease_held: do not touch the resource. {who} {place} {UNTRUSTED}"


def _deadlock(body: Json) -> str:
    chain = ", ".join(
        f"{quoted(step['agent'])} for {quoted(step['waitsFor'])}" for step in body["cycle"][:MOST_NAMES]
    )
    return (
        "Refused, deadlock: waiting would never end, so you are not in the queue. "
        f"{quoted(body['holder'])} has what you asked for and waits for {quoted(body['waitingOn'])}. "
        f"Who would wait for what: {chain}{_more(body['cycle'])}. Release what you hold, then acquire what "
        f"you need from the start, always in the same order. {UNTRUSTED}"
    )


def released(body: Json) -> str:
    """Summary of a lease released, or of a refusal."""
    if body["ok"]:
        lease, trust = body["released"], body["trust"]
        return (
            f"Released: {quoted(lease['resource'])} (token {lease['fencingToken']}) is no longer yours. "
            f"Your trust score is {trust['score']:g} ({trust['delta']:+g})."
        )
    holder = f" It is held by {quoted(body['holder'])}. {UNTRUSTED}" if "holder" in body else ""
    return (
        f"Refused, {body['reason']}: you hold no lease on it, because it was released or ran out before. "
        f"Nothing has changed.{holder}"
    )


def withdrawn(body: Json) -> str:
    """Summary of a withdrawal."""
    if body["withdrawn"]:
        return "Withdrawn: you are no longer in the queue of this resource."
    return "You were not in the queue of this resource. Nothing has changed."


def pictured(body: Json) -> str:
    """Summary of a picture: holders, waiters, refused deadlocks."""
    holders, queue, deadlocks = body["holders"], body["queue"], body["deadlocks"]
    if not holders and not queue:
        return f"At {body['serverTime']} nothing here is held or waited for."
    lines = [
        *(
            f"{quoted(held['resource'])}: held ({held['mode']}) by {quoted(held['holder'])} until "
            f"{held['expiresAt']}"
            for held in holders
        ),
        *(
            f"{quoted(wait['resource'])}: number {wait['position']} in the queue is "
            f"{quoted(wait['actorDid'])}"
            for wait in queue
        ),
        *(
            "deadlock refused between " + " and ".join(quoted(agent) for agent in pair["agents"])
            for pair in deadlocks
        ),
    ]
    left_out = len(lines) - MOST_LINES
    rest = [f"and {left_out} more in the JSON below"] if left_out > 0 else []
    if "nextCursor" in body:
        rest.append("and more resources than are shown: ask for one by its name")
    counted = f"{_counted(len(holders), 'lease')} held, {_counted(len(queue), 'wait')}"
    return "\n".join([f"At {body['serverTime']}: {counted}. {UNTRUSTED}", *lines[:MOST_LINES], *rest])


def stood(body: Json) -> str:
    """Summary of an agent's standing with a resource."""
    parts = [_own_part(body)]
    if body["ahead"]:
        names = _listed([ahead["actorDid"] for ahead in body["ahead"]])
        parts += [f"Ahead of you: {names}.", UNTRUSTED]
    return " ".join(parts)


def _own_part(body: Json) -> str:
    resource = quoted(body["resource"])
    parts = []
    if body["holds"]:
        parts.append(
            f"You hold {resource} ({body['mode']}) for another {body['remainingMs'] / 1000:.1f} s, with "
            f"fencing token {body['fencingToken']}."
        )
    else:
        parts.append(f"You do not hold {resource}: do not touch it.")
    if "offeredUntil" in body:
        parts.append(f"It is kept for you until {body['offeredUntil']}: acquire it now.")
    elif body["queued"]:
        parts.append(
            f"You are number {body['position']} in the queue; acquire again in {body['waitMs']} ms or later."
        )
    elif not body["holds"]:
        parts.append("You are not in its queue either; acquire it to get it or to be put in line.")
    return " ".join(parts)


def _listed(names: list[str]) -> str:
    return ", ".join(quoted(name) for name in names[:MOST_NAMES]) + _more(names)


def _more(items: list[Any]) -> str:
    return f" and {len(items) - MOST_NAMES} more" if len(items) > MOST_NAMES else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
