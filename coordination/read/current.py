"""What is read for `GET wait`, agents, the board and pages: the authority's tables, looked at and not locked.

Every picture is settled at the instant it is taken, so it never shows what has run out, whether or not an
alarm has run. Reads have a thread and a connection of their own and never stand in the authority's way.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from coordination.core.model import Agent, Lease, Resource
from coordination.core.picture import deadlocks
from coordination.storage import clock
from coordination.storage.opening import open_engine, rules
from coordination.storage.store import StorageFault, Store, Transaction
from coordination.wire import cursors, serialize

__all__ = [
    *("PAGE", "StorageFault", "agent", "conduct", "deadlock_list", "lease", "picture", "search"),
    *("snapshot", "stop"),
]

PAGE = 500
WHOLE = 10_000
Json = dict[str, Any]
T = TypeVar("T")

_executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reads")
_store: Store | None = None


async def picture(workspace: str, resource: str | None = None, limit: int = PAGE, after: str = "") -> Json:
    """The body of `GET wait`: holders, queues, deadlock pairs of one resource or of a page of resources.

    A page holds whole queues of up to `limit` resources whose names come after `after`; `nextCursor` is there
    when more follow (see `cursors`). Deadlock pairs stand with the resource that was asked for. Raises
    StorageFault.
    """

    def read(transaction: Transaction) -> Json:
        if resource is not None:
            names, more = [resource], False
        else:
            names = transaction.active_names(workspace, after, limit + 1)
            names, more = names[:limit], len(names) > limit
        shown = _shown(transaction, workspace, names, resource)
        return {**shown, "nextCursor": cursors.give(workspace, names[-1])} if more else shown

    return await _reading(read)


async def agent(workspace: str, did: str) -> Json | None:
    """The body of `GET agents`: trust, holds and waits; None for one never seen. Raises StorageFault."""
    found = await agents(workspace, [did])
    return found[0] if found else None


async def agents(workspace: str, dids: list[str]) -> list[Json]:
    """The same of several, without those never seen. Raises StorageFault."""

    def read(transaction: Transaction) -> list[Json]:
        names = {name for did in dids for name in transaction.names_of(workspace, did)}
        world = transaction.look(workspace, names, dids)
        resources = [world.resources[name] for name in sorted(names) if name in world.resources]
        holders, queue = _holders(resources), _queue(resources, transaction)
        return [
            {
                "did": did,
                "trust": _trust(known),
                "holds": [said for said in holders if said["holder"] == did],
                "waits": [said for said in queue if said["actorDid"] == did],
            }
            for did in dids
            if (known := world.agents.get(did)) is not None
        ]

    return await _reading(read)


async def lease(workspace: str, resource: str, agent: str) -> Lease | None:
    """An agent's lease on a resource, with its id, which is not for showing; None when it holds none.
    Raises StorageFault."""

    def read(transaction: Transaction) -> Lease | None:
        found = transaction.look(workspace, [resource]).resources.get(resource)
        return None if found is None else found.lease_of(agent)

    return await _reading(read)


async def search(workspace: str, beginning: str, limit: int = 20) -> list[Json]:
    """Resources in use whose names begin so, and the one of that very name if it is known: resource, holders,
    queue (how many), lastToken. Raises StorageFault."""

    def read(transaction: Transaction) -> list[Json]:
        # In the database's order, which may put others between them: then fewer are found.
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

    return await _reading(read)


async def conduct(workspace: str, dids: list[str]) -> dict[str, Json]:
    """The trust of those of these agents that are known. Raises StorageFault."""

    def read(transaction: Transaction) -> dict[str, Json]:
        world = transaction.look(workspace, [], dids)
        return {did: _trust(world.agents[did]) for did in dids if did in world.agents}

    return await _reading(read)


async def snapshot(workspace: str) -> Json:
    """What a live socket starts from: the whole picture, the trust of everyone in it, counters."""

    def read(transaction: Transaction) -> Json:
        names = transaction.active_names(workspace, "", WHOLE)
        shown = _shown(transaction, workspace, names, None)
        del shown["ok"]
        seen = {said["holder"] for said in shown["holders"]} | {said["actorDid"] for said in shown["queue"]}
        trust = {known.did: _trust(known) for known in transaction.known(workspace, sorted(seen))}
        counters = {
            "resources": len({said["resource"] for said in (*shown["holders"], *shown["queue"])}),
            "holders": len(shown["holders"]),
            "waiters": len(shown["queue"]),
            "deadlocks": len(shown["deadlocks"]),
        }
        return {**shown, "trust": trust, "counters": counters}

    return await _reading(read)


async def deadlock_list(workspace: str) -> Json:
    """`serverTime` and all `deadlocks` of a workspace: the part of a picture that changes without an event.
    Looks at what is waited for only. Raises StorageFault."""

    def read(transaction: Transaction) -> Json:
        world = transaction.look_with_refusals(workspace)
        return {
            "serverTime": serialize.instant(transaction.now),
            "deadlocks": [serialize.deadlock(pair) for pair in deadlocks(world)],
        }

    return await _reading(read)


def stop() -> None:
    """Give the connection back; the next read opens another."""
    _executor.submit(_close).result()


async def _reading(read: Callable[[Transaction], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_executor, _read, read)


def _read(read: Callable[[Transaction], T]) -> T:
    """A connection that was opened before may have been lost since: then it is read over a new one."""
    before = _store
    try:
        return _read_once(read)
    except StorageFault:
        if before is None:
            raise
        return _read_once(read)


def _read_once(read: Callable[[Transaction], T]) -> T:
    global _store
    try:
        if _store is None:
            _store = Store(open_engine(readonly=True), rules())
        with _store.reading(clock.installed()) as transaction:
            return read(transaction)
    except StorageFault:
        _close()
        raise


def _close() -> None:
    global _store
    if _store is not None:
        _store.engine.close()
        _store = None


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
        "serverTime": serialize.instant(transaction.now),
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
