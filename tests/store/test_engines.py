"""The same scripts through the bare core, SQLite and PostgreSQL have the same results.

`SCRIPTS=10000 pytest tests/store/test_engines.py` runs that many generated scripts instead of 100, and
`SEED=…` begins with another one. A script that fails is printed as text that `parse` reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from coordination.authority.batch import Batch
from coordination.authority.replies import Ask, PendingAsk
from coordination.core.messages import Command, Event
from coordination.core.model import Rules
from coordination.storage.engines.base import Engine
from coordination.storage.store import Store
from tests.scripts.generate import CHORUS, generate
from tests.scripts.handwritten import SCRIPTS
from tests.scripts.language import BareCore, Result, Script, batches, picture, plain

from .authorities import Database

COUNT = int(os.environ.get("SCRIPTS", "100"))
SEED = int(os.environ.get("SEED", "0"))

NOBODY: Any = (None, None)  # no caller waits for these answers
_workspaces = count(1)

Turn = tuple[int, int]  # the instant in ms, and the number of the transaction at it


@dataclass
class Part:
    """A script while it runs through a store."""

    script: Script
    commands: dict[Turn, list[Command]] = field(default_factory=dict)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def turns(self, workspace: str, batch: int) -> Iterable[Turn]:
        last, number = -1, 0
        for now, commands in batches(self.script, batch, f"@{workspace}"):
            number = number + 1 if now == last else 0
            last = now
            self.commands[now, number] = commands
        return self.commands


class StoreEngine:
    """The store over one database; each script has a workspace of its own.

    `remember`: worlds stay in memory between transactions. `forgetful`: everything is read again after
    that many transactions, as after a restart. `stores`: how many stores take turns, each with its own
    memory.
    """

    def __init__(
        self, engine: Engine, remember: bool = False, forgetful: int | None = None, stores: int = 1
    ) -> None:
        self.engine = engine
        self.remember = remember
        self.forgetful = forgetful
        self.stores = stores

    def run(self, script: Script, batch: int = 1) -> Result:
        return self.run_together([script], batch)[0]

    def run_together(self, scripts: Sequence[Script], batch: int) -> list[Result]:
        """Everything at one instant is one transaction, with up to `batch` commands of each script."""
        rules = scripts[0].rules
        stores = [
            Store(self.engine, rules, outage_after_ms=None, remember=self.remember)
            for _ in range(self.stores)
        ]
        parts = {f"ws_{next(_workspaces)}": Part(script) for script in scripts}
        turns = sorted({turn for name, part in parts.items() for turn in part.turns(name, batch)})
        for number, turn in enumerate(turns, start=1):
            store = stores[number % 5 % self.stores]  # a store takes one turn or two in a row
            if self.forgetful and number % self.forgetful == 0:
                store.forget()
            self._take(store, parts, turn)
        return [self._result(stores[0], name, part) for name, part in parts.items()]

    def _take(self, store: Store, parts: dict[str, Part], turn: Turn) -> None:
        asks = [
            Ask(name, command, "workspace_key", "")
            for name, part in parts.items()
            for command in part.commands.get(turn, ())
        ]
        batch = Batch([PendingAsk(ask, *NOBODY) for ask in asks])
        batch.transact(store, lambda: turn[0])
        for ask, answer in zip(asks, batch.answers, strict=True):
            parts[ask.workspace].outcomes.append(plain(answer.outcome))
        for name, events in batch.events.items():
            parts[name].events += events

    def _result(self, store: Store, name: str, part: Part) -> Result:
        steps = part.script.steps
        with store.reading(lambda: steps[-1].at_ms if steps else 0) as transaction:
            world = transaction.look(name, {step.resource for step in steps}, {step.agent for step in steps})
            events = tuple(plain(event) for event in part.events)
            return Result(tuple(part.outcomes), events, picture(world))


WAYS = {
    "sqlite": ("sqlite_database", False, None, 1),
    "sqlite, remembering": ("sqlite_database", True, None, 1),
    "sqlite, remembering, restarted": ("sqlite_database", True, 3, 1),
    "postgresql": ("postgres_database", False, None, 1),
    "postgresql, remembering": ("postgres_database", True, None, 1),
    "postgresql, three remembering": ("postgres_database", True, None, 3),
}


@pytest.fixture(params=WAYS)
def engine(request: pytest.FixtureRequest) -> Iterator[StoreEngine]:
    kind, remember, forgetful, stores = WAYS[request.param]
    database: Database = request.getfixturevalue(kind)
    opened = database.engine()
    yield StoreEngine(opened, remember, forgetful, stores)
    opened.close()


def assert_alike(engine: StoreEngine, scripts: Sequence[Script], batch: int) -> None:
    """Outcomes, events and the last picture equal those of the bare core, which takes one command at a
    time."""
    for script, result in zip(scripts, engine.run_together(scripts, batch), strict=True):
        expected = BareCore().run(script)
        for number, (right, found) in enumerate(
            zip(expected.outcomes, result.outcomes, strict=True), start=1
        ):
            assert found == right, f"step {number} of\n{script}"
        assert result.events == expected.events, str(script)
        assert result.picture == expected.picture, str(script)


@pytest.mark.parametrize("batch", [1, 256])
def test_written_scripts(engine: StoreEngine, batch: int) -> None:
    for script in SCRIPTS:
        assert_alike(engine, [script], batch)


@pytest.mark.parametrize("batch", [1, 256])
def test_generated_scripts(engine: StoreEngine, batch: int) -> None:
    print(f"seeds {SEED} … {SEED + COUNT - 1}")
    for first in range(SEED, SEED + COUNT, CHORUS):
        assert_alike(engine, [generate(seed) for seed in range(first, first + CHORUS)], batch)


def test_scripts_that_only_share_the_database(engine: StoreEngine) -> None:
    """Scripts at different instants, one after the other: rows of one script do not matter to the next."""
    for seed in range(SEED, SEED + 10 * CHORUS, CHORUS):
        assert_alike(engine, [generate(seed)], 1)


def test_scripts_with_other_rules(engine: StoreEngine) -> None:
    """Short times and short queues, as an operator may set them."""
    rules = Rules(lease_ttl_ms=2_000, offer_ms=1_999, wait_ttl_ms=2_001, queue_limit=2)
    assert_alike(engine, [replace(generate(seed), rules=rules) for seed in range(SEED, SEED + CHORUS)], 256)
