"""A lease that was not delivered to its agent is returned, unless the agent has asked again meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coordination.authority.batch import Batch
from coordination.authority.replies import Ask, PendingAsk, granted
from coordination.core.messages import Acquire, Command, Granted, Revoke
from coordination.core.model import Mode, Rules
from coordination.storage.store import Store

from .authorities import START, Database

NOBODY: Any = (None, None)  # no caller waits for these answers
RULES = Rules()


def acquire(agent: str, lease_id: str) -> Acquire:
    return Acquire("lock:a", Mode.EXCLUSIVE, agent, lease_id)


def transact(store: Store, now: int, *commands: Command, **work: Any) -> Batch:
    items = [PendingAsk(Ask("ws_1", command, "workspace_key", ""), *NOBODY) for command in commands]
    batch = Batch(items, **work)
    batch.transact(store, lambda: now)
    return batch


@pytest.fixture
def store(database: Database) -> Any:
    engine = database.engine()
    yield Store(engine, RULES, outage_after_ms=None)
    engine.close()


def test_an_undelivered_lease_is_returned(store: Store) -> None:
    batch = transact(store, START, acquire("A", "lse_1"))
    owed = granted(batch.items, batch.answers)
    assert [lease.lease_id for lease in owed] == ["lse_1"]
    after = transact(store, START + 5, acquire("B", "lse_2"), owed=owed)
    assert isinstance(after.answers[0].outcome, Granted)
    assert after.answers[0].outcome.lease.token == 2


def test_a_lease_renewed_in_the_same_batch_stays(store: Store) -> None:
    batch = transact(store, START, acquire("A", "lse_1"))
    owed = granted(batch.items, batch.answers)
    after = transact(store, START + 5, acquire("A", "lse_2"), owed=owed)
    assert isinstance(after.answers[0].outcome, Granted)
    assert after.answers[0].outcome.renewed


def test_a_lease_renewed_through_another_process_stays(database: Database, store: Store) -> None:
    """One process does not know whether its commit was made. Before it is back, the agent has asked another
    process and received the lease by its renewal."""
    batch = transact(store, START, acquire("A", "lse_1"))
    owed = granted(batch.items, batch.answers)
    other = database.engine() if database.shared else store.engine
    renewal = transact(Store(other, RULES, "another", None), START + 100, acquire("A", "lse_2"))
    assert isinstance(renewal.answers[0].outcome, Granted)
    assert renewal.answers[0].outcome.renewed
    after = transact(store, START + 200, acquire("B", "lse_3"), owed=owed)
    assert after.answers[0].outcome.holder == "A"
    if database.shared:
        other.close()


def test_receipts_tell_a_revoked_lease_from_a_returned_one(store: Store) -> None:
    first = transact(store, START, acquire("A", "lse_1"))
    transact(store, START + 1, owed=granted(first.items, first.answers))
    transact(store, START + 2, acquire("B", "lse_2"))
    transact(store, START + 3, Revoke("lock:a", "lse_2"))
    with store.engine.outbox(10, [first.answers[0].kid]) as rows:
        events = [json.loads(claims)["event"] for *_, claims in rows]
    assert events == [
        "coordination.lease",
        "coordination.return_undelivered",
        "coordination.lease",
        "coordination.revoke",
    ]
