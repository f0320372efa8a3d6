"""Reads of what holds now, for `GET wait`, agents, boards and pages; they take no lock on the tables.

Every picture is settled at the instant at which it is read. So it never shows a lease that has expired, even
when the authority has not reclaimed it yet. Reads have a thread and a connection of their own, so the
authority does not wait for them.
"""

from collections.abc import Iterable

from coordination.authority import process
from coordination.core.model import Agent, Lease, Resource
from coordination.core.waitgraph import deadlocks
from coordination.storage.store import StorageFault, Transaction
from coordination.wire import serialize
from coordination.wire.ids import cursor_after
from intramedial.http.formats import Json, rfc3339_of_ms

__all__ = [
    "PAGE",
    "StorageFault",
    "agent",
    "agents",
    "conduct",
    "deadlock_list",
    "lease",
    "picture",
    "search",
    "snapshot",
]

PAGE = 500
WHOLE = 10_000


async def picture(workspace: str, resource: str | None = None, limit: int = PAGE, after: str = "") -> Json:
    """The body of `GET wait`: holders, queues, deadlock pairs of one resource or of a page of resources.

    A page holds whole queues of up to `limit` resources whose names come after `after`; `nextCursor` is there
    when more follow (see `wire/ids.py`). Deadlock pairs stand with the resource that was asked for. Raises
    StorageFault.
    """

    def read(transaction: Transaction) -> Json:
        if resource is not None:
            names, more = [resource], False
        else:
            names = transaction.active_names(workspace, after, limit + 1)
            names, more = names[:limit], len(names) > limit
        shown = _shown(transaction, workspace, names, resource)
        return {**shown, "nextCursor": cursor_after(workspace, names[-1])} if more else shown

    return await process.current().reader.read(read)


async def agent(workspace: str, did: str) -> Json | None:
    """The body of `GET agents`: trust, leases and waits; None for an unknown agent. Raises StorageFault."""
    found = await agents(workspace, [did])
    return found[0] if found else None


async def agents(workspace: str, dids: list[str]) -> list[Json]:
    """The same for several agents, without the unknown ones. Raises StorageFault."""

    def read(transaction: Transaction) -> list[Json]:
        names = {name for did in dids for name in transaction.names_of(workspace, did)}
        world = transaction.look(workspace, names, dids)
        resources = [world.resources[name] for name in sorted(names) if name in world.resources]
        holders, queue = _holders(resources), _queue(resources, transaction)
        return [
            {
                "did": did,
                "trust": _trust(known),
                "holds": [row for row in holders if row["holder"] == did],
                "waits": [row for row in queue if row["actorDid"] == did],
            }
            for did in dids
            if (known := world.agents.get(did)) is not None
        ]

    return await process.current().reader.read(read)


async def lease(workspace: str, resource: str, agent: str) -> Lease | None:
    """An agent's lease on a resource, or None. Its id must not be shown to others. Raises StorageFault."""

    def read(transaction: Transaction) -> Lease | None:
        found = transaction.look(workspace, [resource]).resources.get(resource)
        return None if found is None else found.lease_of(agent)

    return await process.current().reader.read(read)


async def search(workspace: str, beginning: str, limit: int = 20) -> list[Json]:
    """Resources in use whose names begin with `beginning`, and the resource of exactly that name if it is
    known: resource, holders and queue (how many), lastToken. Raises StorageFault."""

    def read(transaction: Transaction) -> list[Json]:
        # The order is the database's. Where it puts other names between these, fewer are found.
        after = transaction.active_names(workspace, beginning, limit)
        names = [beginning, *(name for name in after if name.startswith(beginning))]
        resources = transaction.look(workspace, names).resources
        return [
            {
                "resource": found.name,
                "holders": len(found.leases),
                "queue": len(found.queue),
                "lastToken": found.last_token,
            }
            for name in names
            if (found := resources.get(name)) is not None
        ]

    return await process.current().reader.read(read)


async def conduct(workspace: str, dids: list[str]) -> dict[str, Json]:
    """The trust of the agents, by DID, without the unknown ones. Raises StorageFault."""

    def read(transaction: Transaction) -> dict[str, Json]:
        world = transaction.look(workspace, [], dids)
        return {did: _trust(world.agents[did]) for did in dids if did in world.agents}

    return await process.current().reader.read(read)


async def snapshot(workspace: str) -> Json:
    """The first message of a live socket: the whole picture, the trust of the agents in it, counters."""

    def read(transaction: Transaction) -> Json:
        names = transaction.active_names(workspace, "", WHOLE)
        shown = _shown(transaction, workspace, names, None)
        del shown["ok"]
        seen = {row["holder"] for row in shown["holders"]} | {row["actorDid"] for row in shown["queue"]}
        trust = {known.did: _trust(known) for known in transaction.known(workspace, sorted(seen))}
        counters = {
            "resources": len({row["resource"] for row in (*shown["holders"], *shown["queue"])}),
            "holders": len(shown["holders"]),
            "waiters": len(shown["queue"]),
            "deadlocks": len(shown["deadlocks"]),
        }
        return {**shown, "trust": trust, "counters": counters}

    return await process.current().reader.read(read)


async def deadlock_list(workspace: str) -> Json:
    """`serverTime` and all `deadlocks` of a workspace: the part of a picture that changes without an event.
    It reads only resources with waits or refusals. Raises StorageFault."""

    def read(transaction: Transaction) -> Json:
        world = transaction.look_with_refusals(workspace)
        return {
            "serverTime": rfc3339_of_ms(transaction.now),
            "deadlocks": [serialize.deadlock(pair) for pair in deadlocks(world)],
        }

    return await process.current().reader.read(read)


def _shown(transaction: Transaction, workspace: str, names: list[str], only: str | None) -> Json:
    world = transaction.look_with_refusals(workspace, names)
    resources = [world.resources[name] for name in sorted(set(names)) if name in world.resources]
    pairs = deadlocks(world)
    if only is not None:
        pairs = [pair for pair in pairs if only in pair.resources]
    else:
        page = set(names)
        pairs = [pair for pair in pairs if pair.resources[0] in page]
    return {
        "ok": True,
        "serverTime": rfc3339_of_ms(transaction.now),
        "holders": _holders(resources),
        "queue": _queue(resources, transaction),
        "deadlocks": [serialize.deadlock(pair) for pair in pairs],
    }


def _holders(resources: Iterable[Resource]) -> list[Json]:
    return [serialize.holder(resource, lease) for resource in resources for lease in resource.leases]


def _queue(resources: Iterable[Resource], transaction: Transaction) -> list[Json]:
    return [
        serialize.waiter(resource, wait, place, transaction.rules)
        for resource in resources
        for place, wait in enumerate(resource.queue)
    ]


def _trust(known: Agent) -> Json:
    return {"score": float(known.trust), "releases": known.releases, "expiries": known.expiries}
