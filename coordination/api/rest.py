"""The REST operations: each turns a validated request into a command, and the outcome into an answer."""

from collections.abc import Awaitable, Mapping
from typing import Any

import orjson
from ninja import Query, Router

from coordination.api import schemas, service
from coordination.core.messages import (
    Acquire,
    Deadlock,
    Granted,
    Held,
    NotReleased,
    Outcome,
    Release,
    Released,
    Withdraw,
    Withdrawn,
)
from coordination.read import current
from coordination.wire.ids import new_lease_id, read_cursor
from intramedial.http.calls import Call, Headers, Reply
from intramedial.http.problems import Problem
from intramedial.http.routing import invalid
from intramedial.http.shapes import errors
from intramedial.workspaces.authentication.callers import COUNTED, UNCOUNTED

router = Router(tags=["coordination"], by_alias=True)

STATUS: Mapping[type[Outcome], int] = {
    **dict.fromkeys((Granted, Released, Withdrawn), 200),
    **dict.fromkeys((Held, Deadlock, NotReleased), 409),
}
RETRY_AFTER: Mapping[type[Outcome], Headers] = {Held: ((b"retry-after", b"1"),)}

PREFER = {
    "in": "header",
    "name": "Prefer",
    "required": False,
    "description": "RFC 7240. `wait=0`: refuse me rather than queue me. Other preferences are ignored.",
    "schema": {"type": "string"},
    "example": "wait=0",
}


@router.post(
    "coordination/lease",
    auth=COUNTED,
    operation_id="acquireLease",
    summary="Ask for a lease",
    response={200: schemas.LeaseGranted, 409: schemas.LeaseHeld | schemas.Deadlock, **errors(body=True)},
    openapi_extra={"parameters": [PREFER]},
)
async def lease(request: Call, body: schemas.LeaseRequest) -> Reply:
    """Grant the resource, renew a lease the agent holds (same id, same token, new end), or refuse.

    Refused as `lease_held`, the agent is in the queue if it has a `position`: ask again after `waitMs`, and
    at the latest before `keptUntil`. Refused as `deadlock`, it is not. A lease ends at `expiresAt` unless it
    is asked for again. The service decides how long it lasts, so `ttlMs` in the body is ignored.
    """
    resource, mode = body.resource
    queue = not declines_queue(request.parts.headers.get("prefer"))
    return await _decide(request, Acquire(resource, mode, body.actor_did, new_lease_id(), queue))


@router.post(
    "coordination/release",
    auth=COUNTED,
    operation_id="releaseLease",
    summary="Give a lease back",
    response={200: schemas.LeaseReleased, 409: schemas.NotReleased, **errors(body=True)},
)
async def release(request: Call, body: schemas.ReleaseRequest) -> Reply:
    """End a lease that the agent holds; the next waiter is offered the resource.

    With a `leaseId` that is not that of a lease the agent holds now, the answer is `stale_lease`; without one
    and without a lease, `not_held`. Neither changes anything.
    """
    resource, _ = body.resource
    return await _decide(request, Release(resource, body.actor_did, body.lease_id))


@router.get(
    "coordination/wait",
    auth=COUNTED,
    operation_id="seeWaits",
    summary="Who holds, who waits, who is deadlocked",
    response={200: schemas.Picture, **errors()},
)
async def wait(request: Call, query: Query[schemas.WaitQuery]) -> Reply:
    """The live picture of the workspace, or of one resource. It never shows what has run out."""
    resource = query.resource[0] if query.resource is not None else None
    workspace = request.caller.workspace
    try:
        after = "" if query.cursor is None else read_cursor(workspace, query.cursor)
    except ValueError as error:
        raise invalid(("/cursor", str(error))) from None
    return await _seen(current.picture(workspace, resource, query.limit, after))


@router.delete(
    "coordination/wait",
    auth=COUNTED,
    operation_id="leaveQueue",
    summary="Leave a queue",
    response={200: schemas.Withdrawn, **errors()},
)
async def withdraw(request: Call, query: Query[schemas.WithdrawQuery]) -> Reply:
    """Give up the agent's place in the queue of the resource, and its entry in the list of deadlocks."""
    resource, _ = query.resource
    return await _decide(request, Withdraw(resource, query.actor_did))


@router.get(
    "agents",
    auth=UNCOUNTED,
    operation_id="seeAgent",
    summary="An agent's trust, leases and waits",
    response={200: schemas.Agent, **errors(404)},
)
async def agent(request: Call, query: Query[schemas.AgentQuery]) -> Reply:
    """What is known of an agent in this workspace. 404 for one that has never acquired or waited here."""
    return await _seen(current.agent(request.caller.workspace, query.did))


async def _seen(reading: Awaitable[dict[str, Any] | None]) -> Reply:
    found = await service.read(reading)
    if found is None:
        raise Problem("not_found", "No such agent has acquired or waited in this workspace.")
    return Reply(200, orjson.dumps(found))


async def _decide(call: Call, command: service.AgentCommand) -> Reply:
    decided = await service.decide(call.caller, command, call.digest)
    kind = type(decided.outcome)
    return Reply(STATUS[kind], decided.body, RETRY_AFTER.get(kind, ()))


def declines_queue(prefer: str | None) -> bool:
    """Whether the field `Prefer` (RFC 7240) contains `wait=0`. The first of several `wait` preferences
    counts."""
    if prefer is None:
        return False
    for preference in prefer.split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "wait":
            return value.strip().strip('"') == "0"
    return False
