"""Fills the authority's tables through the product's own store, so that they are as the store leaves them.

Run it only while no server uses them. The leases last a day, and must also do so for the server.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from coordination.core.decide import decide
from coordination.core.messages import Acquire, Granted, Held
from coordination.core.model import Mode, Rules
from coordination.storage.engines.postgres.engine import PostgresEngine
from coordination.storage.engines.sqlite.engine import SqliteEngine
from coordination.storage.store import Needs, Store
from coordination.wire.ids import new_lease_id

from .lab import Copy

DAY_MS = 86_400_000
SERVER = {
    "INTRAMEDIAL_LEASE_TTL_MS": str(DAY_MS),
    "INTRAMEDIAL_WAIT_TTL_MS": str(DAY_MS),
    "INTRAMEDIAL_WORKSPACE_RESOURCES": "10000000",
}
RULES = Rules(lease_ttl_ms=DAY_MS, wait_ttl_ms=DAY_MS)
AT_ONCE = 1000

Clock = Callable[[], int] | None


@contextmanager
def store_of(copy: Copy, rules: Rules = RULES) -> Iterator[Store]:
    """The store over a copy's tables, while no server runs."""
    engine: Any
    if "DATABASE_URL" in copy.env:
        address = urlsplit(copy.env["DATABASE_URL"])
        names = {"host": address.hostname, "port": address.port, "user": address.username}
        engine = PostgresEngine({**names, "dbname": address.path[1:]})
    else:
        engine = SqliteEngine(copy.data_dir / "leases.sqlite3")
    try:
        yield Store(engine, rules, outage_after_ms=None)
    finally:
        engine.close()


def agent(number: int) -> str:
    """A DID as long as a did:key; invented, because a million real ones would take longer than the
    benchmark."""
    return f"did:web:agents.example:{number:033d}"


def leases(store: Store, first: int, count: int, workspace: str = "", ends_at: int | None = None) -> None:
    """`count` leases, numbered from `first`: all in one workspace, or a thousand in each of several.

    They expire a day from now, or all at the instant `ends_at` (ms since the epoch; SQLite only).
    """
    clock = _clock(store) if ends_at is None else lambda: ends_at - DAY_MS
    for start in range(first, first + count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, first + count))
        where = workspace or f"ws_filled{start // AT_ONCE:013d}"
        asked = [Acquire(resource(n), Mode.EXCLUSIVE, agent(n), new_lease_id()) for n in numbers]
        _decide(store, where, asked, Granted, clock)


def resource(number: int) -> str:
    """The name of a resource that was filled in."""
    return f"lock:filled/{number:07d}"


def chain(store: Store, workspace: str, length: int, prefix: str) -> None:
    """`length` agents, each of which holds one resource and waits for the next; the last one waits for
    none."""
    names = [f"lock:{prefix}/{number:05d}" for number in range(length)]
    agents = [f"{agent(number)}:{prefix}" for number in range(length)]
    held = [Acquire(n, Mode.EXCLUSIVE, a, new_lease_id()) for n, a in zip(names, agents, strict=True)]
    waits = [
        Acquire(n, Mode.EXCLUSIVE, a, new_lease_id()) for n, a in zip(names[1:], agents[:-1], strict=True)
    ]
    _decide(store, workspace, held, Granted, _clock(store))
    _decide(store, workspace, waits, Held, _clock(store))


def _decide(store: Store, workspace: str, commands: list[Acquire], expected: type, clock: Clock) -> None:
    needs = Needs({ask.resource for ask in commands}, {ask.agent for ask in commands})
    with store.transaction({workspace: needs}, clock) as transaction:
        for command in commands:
            outcome = decide(transaction.worlds[workspace], command, transaction.now)
            assert isinstance(outcome, expected), outcome


def _clock(store: Store) -> Clock:
    """The wall clock, for a database without its own."""
    return None if store.engine.shared else lambda: int(time.time() * 1000)
