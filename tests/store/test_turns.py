"""Three processes on one PostgreSQL take turns at random, with faults, purges and deleted workspaces: at
every step, what a process remembers equals what it would read.

`TURNS=100000 pytest tests/store/test_turns.py` makes that many steps, `SEED=7` begins at that one; both
are printed.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from coordination.authority.expiry import Due, first_due
from coordination.core.decide import decide
from coordination.core.messages import Acquire, Command, Release, Revoke, Withdraw
from coordination.core.model import Mode, Rules
from coordination.storage.engines.base import Engine, StorageFault
from coordination.storage.store import Needs, Store
from coordination.storage.transaction import Memory, Transaction
from tests.scripts.language import plain
from tests.store.authorities import START, Faulty, PostgresDatabase

TURNS = int(os.environ.get("TURNS", "600"))
SEED = int(os.environ.get("SEED", "1"))
WORKSPACES, NAMES, DIDS = ("ws_1", "ws_2"), ("lock:a", "lock:b", "doc:c"), ("did:a", "did:b", "did:c")
STAGES = ("begin", "load", "members", "write", "commit", "answer")
RULES = Rules(lease_ttl_ms=2_000, offer_ms=900, wait_ttl_ms=2_500, queue_limit=2)
WAITS_MS = (0, 0, 0, 1, 10, 900, 2_000, 5_000)

Ask = tuple[str, Command]


class Turns:
    """The dice, the time and the processes."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.dice = random.Random(SEED)
        self.now = START
        self.leases: list[tuple[str, str, str]] = []  # workspace, resource, id
        self.engines = [Faulty(database.engine()) for _ in range(3)]
        self.stores = [
            Store(engine, RULES, f"process {number}", outage_after_ms=None, remember=True)
            for number, engine in enumerate(self.engines)
        ]
        self.seen: list[Due] = []  # found by expiry, and not done yet
        self.done: Counter[str] = Counter()

    def turn(self) -> None:
        """One process does one thing, which may fail at any stage."""
        self.now += self.dice.choice(WAITS_MS)
        number = self.dice.randrange(len(self.stores))
        store, engine = self.stores[number], self.engines[number]
        engine.failing = self.dice.choice(STAGES) if self.dice.random() < 0.05 else ""
        workspace, chance = self.dice.choice(WORKSPACES), self.dice.random()
        try:
            if chance < 0.2:
                self.look(store, engine.engine)
            elif chance < 0.85:
                asks = [self.ask() for _ in range(self.dice.choice((0, 1, 1, 2, 5)))]
                self.decide(store, asks, self.dice.sample(WORKSPACES, self.dice.randrange(2)))
            elif chance < 0.95:
                self.done["purged"] += store.purge(
                    workspace, NAMES[:2], self.now - self.dice.choice((0, 5_000))
                )
            else:
                self.now += 10_000  # nothing is held or waited for any more
                self.transact(store, {name: Needs() for name in WORKSPACES})
                while forgotten := store.forget_tenant(workspace, self.dice.choice((1, 500))):
                    self.done["forgotten"] += forgotten
        except StorageFault:
            self.done["failed"] += 1

    def ask(self) -> Ask:
        workspace, name, did = (self.dice.choice(of) for of in (WORKSPACES, NAMES, DIDS))
        chance = self.dice.random()
        if chance < 0.6:
            lease_id = f"lse_{SEED}_{len(self.leases)}"
            self.leases.append((workspace, name, lease_id))
            mode = self.dice.choice((Mode.EXCLUSIVE, Mode.EXCLUSIVE, Mode.SHARED))
            return workspace, Acquire(name, mode, did, lease_id, queue=self.dice.random() < 0.8)
        if chance < 0.85 or not self.leases:
            return workspace, Release(name, did)
        if chance < 0.93:
            return workspace, Withdraw(name, did)
        workspace, name, lease_id = self.dice.choice(self.leases[-20:])
        return workspace, Revoke(name, lease_id)

    def decide(self, store: Store, asks: list[Ask], due: Sequence[str]) -> None:
        needs = {workspace: Needs() for workspace in due}
        for workspace, command in asks:
            need = needs.setdefault(workspace, Needs())
            need.resources.add(command.resource)
            if not isinstance(command, Revoke):
                need.agents.add(command.agent)
            if isinstance(command, Acquire):
                need.asking.setdefault(command.resource, set()).add(command.agent)
        self.transact(store, needs, asks)

    def look(self, store: Store, engine: Engine) -> None:
        """Expire as the authority does. The list of what is due may be old, and another process may have been
        first."""
        self.seen.append(first_due(engine, self.now, self.dice.choice((1, 2, 128))))
        if self.dice.random() < 0.5:
            return
        due = self.seen.pop(self.dice.randrange(len(self.seen)))
        needs: dict[str, Needs] = {}
        for workspace, name in due.resources:
            needs.setdefault(workspace, Needs(until=due.until)).resources.add(name)
        self.transact(store, needs)
        self.done["looked"] += bool(needs)

    def transact(self, store: Store, needs: dict[str, Needs], asks: Sequence[Ask] = ()) -> None:
        with store.transaction(needs, lambda: self.now) as transaction:
            fresh = read_fresh(transaction, needs)
            same(transaction, fresh, needs)
            for workspace, command in asks:
                outcome = decide(transaction.worlds[workspace], command, self.now)
                assert plain(outcome) == plain(decide(fresh.worlds[workspace], command, self.now))
                self.done[type(outcome).__name__] += 1


def read_fresh(transaction: Transaction, needs: dict[str, Needs]) -> Transaction:
    """The same worlds under the same locks, with nothing remembered."""
    wanted = {
        workspace: Needs(
            need.resources
            | (transaction.worlds[workspace].resources.keys() if need.until is None else set()),
            need.agents | transaction.worlds[workspace].agents.keys(),
            need.asking,
            until=need.until,
        )
        for workspace, need in needs.items()
    }
    fresh = Transaction(
        transaction._engine, transaction.rules, transaction.now, transaction._outages, Memory()
    )
    fresh.load(wanted)
    return fresh


def same(transaction: Transaction, fresh: Transaction, needs: dict[str, Needs]) -> None:
    for workspace, world in transaction.worlds.items():
        stored = fresh.worlds[workspace]
        names = world.resources.keys() if needs[workspace].until is None else needs[workspace].resources
        assert all(stored.resources.get(name) == world.resources.get(name) for name in names)
        assert {did: stored.agents.get(did) for did in world.agents} == world.agents
        assert (stored.active, stored.token_floor) == (world.active, world.token_floor)
        assert list(map(plain, stored.events)) == list(map(plain, world.events))


@pytest.fixture
def turns(postgres_database: PostgresDatabase) -> Iterator[Turns]:
    made = Turns(postgres_database)
    yield made
    for engine in made.engines:
        engine.failing = ""
        engine.engine.close()


def test_memory_equals_what_is_stored(turns: Turns) -> None:
    for number in range(TURNS):
        print(f"SEED={SEED} turn {number}")
        turns.turn()
    print(dict(turns.done))
    assert {"Granted", "Held", "Released", "purged", "forgotten", "failed", "looked"} <= turns.done.keys()
