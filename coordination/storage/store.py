"""The store: the only writer of leases, waits and trust. It loads worlds, and writes what became of them.

What is kept in memory
----------------------
A world that was loaded stays in memory from one transaction to the next, so that a resource in use is written
but not read. On SQLite there is no other writer, so the memory is what is stored. On PostgreSQL other
processes write too. There, each transaction gives every workspace that it changes a new stamp, a random
number, under the workspace's lock. The next transaction reads the stamp when it has that lock, and reloads a
workspace whose stamp changed. Purges change the stamp too. Expiry needs no stamp: each transaction checks
whether anything in its workspaces has expired, and loads that, whether it is in memory or not.
After any failure the memory is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from coordination.core.model import Outage, Rules
from coordination.wire.ids import new_stamp

from .engines.base import Begun, Engine, StorageFault
from .transaction import Memory, Needs, Transaction

__all__ = ["Backlog", "Needs", "StorageFault", "Store", "Transaction"]

logger = logging.getLogger(__name__)

PULSE_MS = 250  # the least time between two pulses of a process
REMEMBERED = 60_000  # the most workspaces, resources and agents in memory; some hundred bytes each
FAR = 1 << 62
OUTBOX_ROW = 200  # bytes that a row takes besides its claims


class Backlog:
    """The size of the outbox in bytes, and its limit. One thread admits entries, another counts them.

    The outbox is in the authority's own database. While the ledger is away, it grows with every grant.
    Without a limit it would fill the disk, and then no lease could be granted, released or reclaimed. Above
    the limit entries are not recorded, leases go on, and an error is logged. No answer is lost by that: each
    carries its receipt, whose signature proves what was decided. Only the copy in the ledger is missing, and
    `dropped` counts these entries. Between two counts of the rows the size is an estimate.
    """

    def __init__(self, limit: int | None = None) -> None:
        """`limit`: bytes that may wait; None for any number."""
        self.limit = limit
        self.size = 0
        self.dropped = 0
        """How many entries were not recorded since the authority started."""

    def admit(self, claims: int) -> bool:
        """Whether an entry with so many bytes of claims may be recorded. It is counted if so."""
        if self.limit is not None and self.size + claims + OUTBOX_ROW > self.limit:
            self._drop()
            return False
        self.size += claims + OUTBOX_ROW
        return True

    def left(self, claims: list[int]) -> None:
        """Subtract entries with so many bytes of claims: the ledger has them, and the outbox no longer
        has."""
        self.size = max(0, self.size - sum(claims) - OUTBOX_ROW * len(claims))

    def doubtful(self) -> bool:
        """Whether the estimate is so large that the rows should be counted."""
        return self.limit is not None and self.size > self.limit // 10

    def count(self, rows: int, claims: int) -> None:
        """Replace the estimate: there are so many rows with so many bytes of claims."""
        self.size = rows * OUTBOX_ROW + claims

    def _drop(self) -> None:
        self.dropped += 1
        # Logged at the first, the second, the fourth …: callers cannot fill the log.
        if self.dropped & (self.dropped - 1) == 0:
            logger.error(
                "the outbox is full and the ledger does not take it: entries were dropped, %s so far. Leases"
                " go on, and their receipts are good; the ledger lacks them. Make room for the ledger, or"
                " bring it back",
                self.dropped,
            )


class Store:
    """One connection to the authority's tables, used by one thread at a time.

    `outage_after_ms`: after how long without a pulse of any process an outage is recorded; None: never.
    `remember`: keep worlds in memory from one transaction to the next. `backlog`: how large the outbox may
    become; without limit by default.
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
        """Drop the worlds in memory: they may differ from what is stored."""
        self._memory = Memory(self._remember, alone=self._remember and not self.engine.shared)

    @contextmanager
    def transaction(
        self, needs: Mapping[str, Needs], clock: Callable[[], int] | None = None
    ) -> Iterator[Transaction]:
        """Decide in the block. Its changes are durable at the end, and an exception in it undoes them.

        Raises StorageFault when the database fails. After InDoubt the changes may be stored or not.
        """
        engine = self.engine
        try:
            # The clock is read again when the locks are held. This reading only limits the search for what is
            # due.
            horizon = clock() if engine.shared and clock is not None else None
            begun = engine.begin(sorted(needs), horizon)
            now = _now(begun, clock)
            outages = tuple(Outage(since, until) for since, until in begun.outages)
            outages += self._outage(begun.last_pulse, now, outages)
            if begun.token_floor != self._memory.token_floor:
                self.forget()  # tokens in memory are below the floor
                self._memory.token_floor = begun.token_floor
            if engine.shared:
                self._memory.compare(needs, begun.stamps)
                self._memory.due_from = begun.due_from
            transaction = Transaction(engine, self.rules, now, outages, self._memory)
            transaction.load(needs)
            yield transaction
            engine.write(transaction.changes())
            # Not with every commit: each transaction reads the rows of pulses, and few versions of them are
            # quick to read.
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
        """After a commit: keep the worlds, which are now what is stored."""
        memory = self._memory
        memory.count(transaction.worlds)
        memory.stamps |= transaction.stamps
        if not memory.keeps or memory.size > REMEMBERED:
            self.forget()
        elif not memory.alone:
            return  # `due_from` is read by each transaction
        elif transaction.now >= memory.due_from:
            try:
                memory.due_from = self.engine.next_due() or FAR
            except StorageFault:
                self.forget()  # no error: the batch is committed, and its callers get their answers
        elif transaction.next_due is not None:
            memory.due_from = min(memory.due_from, transaction.next_due)

    # --- housekeeping, each step a small transaction of its own -------------------------------------

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        """Forget those of these resources that were not used since then; returns how many. The workspace's
        floor is raised above their tokens, so the token of a resource that is used again never goes back."""
        with self._tidying([workspace]):
            purged = self.engine.purge(workspace, names, unused_since)
        self._memory.drop(workspace)
        return purged

    def forget_tenant(self, workspace: str, limit: int) -> int:
        """Drop up to `limit` rows of each kind of a workspace that no longer exists; returns how many
        rows. 0: no row is left, or something is still held or waited for there."""
        with self._tidying([workspace]):
            gone = self.engine.forget_tenant(workspace, limit)
        self._memory.drop(workspace)
        return gone

    def forget_agents(self, workspace: str, dids: Sequence[str]) -> int:
        """Drop those of these agents that hold nothing and wait for nothing, each with the last move of its
        trust; returns how many. For agents that had one lease and will never ask again."""
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
        """Drop outages and up to `limit` trust moves from before that instant; returns how many moves."""
        with self._tidying():
            return self.engine.forget_history(before, limit)

    def forget_pulses(self, older_ms: int) -> None:
        """Drop the pulses of processes that are so much older than the latest."""
        with self._tidying():
            self.engine.forget_pulses(older_ms)

    @contextmanager
    def _tidying(self, workspaces: Sequence[str] = ()) -> Iterator[None]:
        """A transaction without a pulse: a purge while no server runs must not hide the outage."""
        try:
            self.engine.begin(workspaces)
            yield
            self.engine.commit(None, 0)
        except BaseException:
            self.engine.rollback()
            self.forget()
            raise

    # --- reading ------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, clock: Callable[[], int] | None = None) -> Iterator[Transaction]:
        """Read without a lock: what the worlds become in the block is not stored."""
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
