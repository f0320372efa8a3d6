"""The core's state machine over a store: after each step the store has the same answers and the same
state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from coordination.authority.batch import Batch
from coordination.authority.expiry import first_due
from coordination.authority.replies import Ask, PendingAsk
from coordination.core.messages import Command, Outcome, Withdraw
from coordination.storage.engines.base import Engine
from coordination.storage.store import Needs, Store
from tests.core.machine import LeaseMachine
from tests.scripts.language import picture, plain

from .authorities import Database

NOBODY: Any = (None, None)  # no caller waits for these answers
NAMES = {"w", "x", "y", "z"}
DIDS = {"A", "B", "C", "D", "E"}

_numbers = count(1)


class StoreMachine(LeaseMachine):
    """Each run has a workspace of its own, and begins long after the run before it."""

    def __init__(self, engine: Engine, remember: bool) -> None:
        super().__init__()
        number = next(_numbers)
        self.start = number * 1_000_000
        self.workspace = f"ws_{number}"
        self.engine = engine
        self.remember = remember
        self.in_parts = False
        self.store = self.open_store()
        while (due := first_due(engine, self.start)).resources:  # what earlier runs have left
            Batch((), *due).transact(self.store, lambda: self.start)

    def open_store(self, outage_after_ms: int | None = None) -> Store:
        return Store(self.engine, self.constants, outage_after_ms=outage_after_ms, remember=self.remember)

    def ask(self, command: Command) -> Outcome:
        outcome = super().ask(command)
        batch = self.transact(Batch([PendingAsk(Ask(self.workspace, self.own(command), "key", ""), *NOBODY)]))
        assert plain(batch.answers[0].outcome) == plain(outcome)
        self.look()
        return outcome

    def own(self, command: Command) -> Command:
        """The command with a lease id that no other run has."""
        if isinstance(command, Withdraw) or command.lease_id is None:
            return command
        return replace(command, lease_id=f"{command.lease_id}@{self.workspace}")

    def transact(self, batch: Batch) -> Batch:
        batch.transact(self.store, lambda: self.trio.now)
        return batch

    def settle(self) -> None:
        with self.store.transaction({self.workspace: Needs()}, lambda: self.trio.now):
            pass  # everything that is due has ended

    def wait_until(self, now: int) -> None:
        """Nothing settles meanwhile: the store finds out when it is asked."""
        super().wait_until(now)
        self.look()

    def be_away_until(self, until: int) -> None:
        """The last good transaction was now; the next one comes from a process that has just started."""
        self.settle()
        super().be_away_until(until)
        self.store = self.open_store(outage_after_ms=0)
        self.settle()
        self.store = self.open_store()
        self.look()

    @rule(span=st.integers(1, 30), parts=st.integers(1, 4), limit=st.integers(1, 2))
    def let_time_pass_and_expiry_run(self, span: int, parts: int, limit: int) -> None:
        """Expiry settles a few parts only: the next request finds the rest. Leases that expired at the same
        instant are settled in any order."""
        super().wait_until(self.trio.now + span)
        self.in_parts = True
        for _ in range(parts):
            self.transact(Batch((), *first_due(self.engine, self.trio.now, limit)))
            self.look()

    def look(self) -> None:
        with self.store.reading(lambda: self.trio.now) as transaction:
            found = picture(transaction.look(self.workspace, NAMES, DIDS))
        expected = picture(self.trio.lazy)
        if self.in_parts:
            for agent in (*found["agents"].values(), *expected["agents"].values()):
                del agent["moved_by"]
        assert found == expected


@pytest.mark.parametrize(
    ("kind", "remember", "examples"),
    [
        ("sqlite_database", False, 25),
        ("sqlite_database", True, 25),
        ("postgres_database", False, 8),
        ("postgres_database", True, 8),
    ],
)
def test_the_store_agrees_with_the_core(
    request: pytest.FixtureRequest, kind: str, remember: bool, examples: int
) -> None:
    database: Database = request.getfixturevalue(kind)
    engine = database.engine()
    try:
        machine: Callable[[], StoreMachine] = lambda: StoreMachine(engine, remember)  # noqa: E731
        run_state_machine_as_test(
            machine, settings=settings(max_examples=examples, stateful_step_count=40, deadline=None)
        )
    finally:
        engine.close()
