"""The store remembers: rows ↔ core values, and the only writer of leases, waits and trust.

What is kept in memory
----------------------
A world that was loaded stays from one transaction to the next, so that a resource in use is written and not
read. On SQLite nobody else writes: what is remembered is what is stored. On PostgreSQL other processes do.
There, each transaction gives every workspace that it changes another stamp, a random number, under the
workspace's lock; the next one reads the stamp when it has that lock, and forgets a world that was left under
another. So does whoever purges. What time changes needs no stamp: each transaction sees whether anything has
run out, and if so loads what has in its workspaces, remembered or not.
Whatever fails, all is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from coordination.core.model import Outage, Rules
from coordination.wire.ids import new_stamp

from .backlog import Backlog
from .engines.base import Begun, Engine, StorageFault
from .transaction import Memory, Needs, Transaction

__all__ = ["Needs", "StorageFault", "Store", "Transaction"]

PULSE_MS = 250  # how old the pulse of a process may be that is at work
REMEMBERED = 60_000  # workspaces, resources and agents; some hundred bytes each
FAR = 1 << 62


class Store:
    """One connection to the authority's tables, used by one thread at a time.

    `outage_after_ms`: how long nobody may have been there before it counts as our own outage; None: never.
    `remember`: keep worlds in memory from one transaction to the next. `backlog`: how large the outbox may
    become; by default as large as it likes.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Rules,
        process: str = "alone",
        outage_after_ms: int | None = 5_000,
        remember: bool = False,
        backlog: Backlog | None = None,
    ) -> None:
        self.engine = engine
        self.backlog = backlog or Backlog()
        self.rules = rules
        self._process = process
        self._outage_after_ms = outage_after_ms
        self._remember = remember
        self.forget()
        self._pulse_at: int | None = None

    def forget(self) -> None:
        """Read everything anew from now on: what is stored is not, or may not be, what is remembered."""
        self._memory = Memory(self._remember, alone=self._remember and not self.engine.shared)

    @contextmanager
    def transaction(
        self, needs: Mapping[str, Needs], clock: Callable[[], int] | None = None
    ) -> Iterator[Transaction]:
        """Decide within: durable at the end of the block, undone by any exception out of it.

        Raises StorageFault when the database fails; if it is InDoubt, the commit may have been made.
        """
        engine = self.engine
        try:
            # The clock is read again when the locks are held; before, it only says how far to look.
            horizon = clock() if engine.shared and clock is not None else None
            begun = engine.begin(sorted(needs), horizon)
            now = _now(begun, clock)
            outages = tuple(Outage(since, until) for since, until in begun.outages)
            outages += self._outage(begun.last_pulse, now, outages)
            if begun.token_floor != self._memory.token_floor:
                self.forget()  # what is remembered of tokens is below the floor
                self._memory.token_floor = begun.token_floor
            if engine.shared:
                self._memory.compare(needs, begun.stamps)
                self._memory.due_from = begun.due_from
            transaction = Transaction(engine, self.rules, now, outages, self._memory)
            transaction.load(needs)
            yield transaction
            engine.write(transaction.changes())
            # Not with every commit: all look at the few rows of pulses, which are to be cheap to look at.
            pulses = self._pulse_at is None or abs(now - self._pulse_at) >= PULSE_MS
            engine.commit(self._process if pulses else None, now)
        except BaseException:
            engine.rollback()
            self.forget()
            raise
        if pulses:
            self._pulse_at = now
        self._keep(transaction)

    def _keep(self, transaction: Transaction) -> None:
        """After a commit: what the worlds are now is what is stored."""
        memory = self._memory
        memory.count(transaction.worlds)
        memory.stamps |= transaction.stamps
        if not memory.keeps or memory.size > REMEMBERED:
            self.forget()
        elif not memory.alone:
            return  # how things stand is read with each transaction
        elif transaction.now >= memory.due_from:
            try:
                memory.due_from = self.engine.next_due() or FAR
            except StorageFault:
                self.forget()  # and no more: it is committed, and its callers shall hear so
        elif transaction.next_due is not None:
            memory.due_from = min(memory.due_from, transaction.next_due)

    # --- house-keeping, each step a small transaction of its own -----------------------------------

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        """Forget those of these resources that nobody has used since then; how many. The tokens of one that
        is used again go on above the workspace's floor, which is above them all."""
        with self._tidying([workspace]):
            purged = self.engine.purge(workspace, names, unused_since)
        self._memory.drop(workspace)
        return purged

    def forget_tenant(self, workspace: str, limit: int) -> int:
        """Drop up to `limit` rows of each kind of a workspace that is no more; 0 when nothing is left, or as
        long as anything is held or waited for there."""
        with self._tidying([workspace]):
            gone = self.engine.forget_tenant(workspace, limit)
        self._memory.drop(workspace)
        return gone

    def forget_agents(self, workspace: str, dids: Sequence[str]) -> int:
        """Drop those of these agents that hold nothing and wait for nothing, each with the last move of its
        trust; how many. For agents that had one lease and will never ask again."""
        with self._tidying([workspace]):
            idle = [(workspace, did) for did in dids if not self.engine.names_of(workspace, did)]
            known = self.engine.agents(idle)
            self.engine.write(
                {
                    "trust_delete": [(row[5],) for row in known if row[5] is not None],
                    "agent_delete": [(workspace, row[1]) for row in known],
                    "tenant_stamp": [(new_stamp(), workspace)],
                }
            )
        self._memory.drop(workspace)
        return len(known)

    def forget_history(self, before: int, limit: int) -> int:
        """Drop outages and up to `limit` trust moves from before that instant; how many moves."""
        with self._tidying():
            return self.engine.forget_history(before, limit)

    def forget_pulses(self, older_ms: int) -> None:
        """Drop the pulses of processes that are so much older than the latest."""
        with self._tidying():
            self.engine.forget_pulses(older_ms)

    @contextmanager
    def _tidying(self, workspaces: Sequence[str] = ()) -> Iterator[None]:
        """Without a pulse: whoever tidies up while no process serves does not hide that none does."""
        try:
            self.engine.begin(workspaces)
            yield
            self.engine.commit(None, 0)
        except BaseException:
            self.engine.rollback()
            self.forget()
            raise

    # --- looking -----------------------------------------------------------------------------------

    @contextmanager
    def reading(self, clock: Callable[[], int] | None = None) -> Iterator[Transaction]:
        """Look without a lock: what the worlds become in the block is not written down."""
        with self.engine.reading() as begun:
            outages = tuple(Outage(since, until) for since, until in begun.outages)
            yield Transaction(self.engine, self.rules, _now(begun, clock), outages, Memory())

    def _outage(self, pulse: int | None, now: int, known: tuple[Outage, ...]) -> tuple[Outage, ...]:
        limit = self._outage_after_ms
        if limit is None or pulse is None or now - pulse <= limit:
            return ()
        if any(outage.since >= pulse for outage in known):
            return ()
        found = self.engine.outage(pulse, now, limit)
        return (Outage(*found),) if found is not None else ()


def _now(begun: Begun, clock: Callable[[], int] | None) -> int:
    now = clock() if clock is not None else begun.clock
    if now is None:
        raise StorageFault("this database has no clock of its own: give one")
    return now
