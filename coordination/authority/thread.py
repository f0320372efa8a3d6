"""The authority: all decisions on leases, one after the other.

One thread takes all commands that have arrived, decides them in order in one transaction, and answers them
together when that is durable. Between commands it ends what has expired.

What a caller may rely on
-------------------------
- An answer is given after its commit. When storage fails, or it is not known whether a commit succeeded,
every caller of the batch gets `Unavailable`. Leases that were granted in it and are stored after all are
returned undelivered, before anything else is decided, unless their agent has asked again meanwhile. -
Batching is invisible: commands of one workspace are decided in the order of their arrival, at one instant. A
command that fails does so alone. - Receipts are signed after the commit, from claims that are fixed within
the transaction. A whole batch is signed in one go, because a signature among other work takes twice as long.
After that events are published and the ledger gets its entries. None of these can make a lease fail. - Every
caller gets an answer, whatever happens to the storage, to a command or to the authority itself.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Container, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from coordination.storage.clock import Clock, SteadyClock, steady_ms, wall_ms
from coordination.storage.engines.base import InDoubt, Key, WriteRefused
from coordination.storage.store import StorageFault, Store
from coordination.wire import serialize
from intramedial.http.formats import Json

from .batch import Batch
from .expiry import Due, Expiry, first_due
from .queue import CommandQueue, take
from .replies import Answer, Ask, Owed, PendingAsk, Unavailable, deliver, granted, refuse

logger = logging.getLogger(__name__)

BATCH = 256
OWED_AT_ONCE = 1_024
PENDING_LIMIT = 20_000
PENDING_SHARE = 5_000  # for one workspace
PULSE_MS = 1_000
RETRY_MS = 200
SLOW_FAULT_MS = 1_000
PROVEN_MS = 250  # a durable write of the last so many ms proves that writes are possible
FAULT_SHOWN_MS = 1_000
STOP_S = 10

T = TypeVar("T")


class Authority:
    """One for each process and database. `publish` gets a workspace and its events if they are `wanted`.
    `recorded` is called when the outbox has something new, `failed` when the storage failed. The
    authority's thread calls these, so they must return at once. `clock` returns the clock, or None: the
    database has it. For `passing` see `Process`."""

    def __init__(
        self,
        store: Store,
        publish: Callable[[str, list[Json]], None] = lambda workspace, events: None,
        wanted: Callable[[str], bool] = lambda workspace: False,
        recorded: Callable[[], None] = lambda: None,
        failed: Callable[[], None] = lambda: None,
        clock: Callable[[], Clock | None] = lambda: None,
        passing: Container[str] = (),
    ) -> None:
        self._store = store
        self._publish = publish
        self._wanted = wanted
        self._recorded, self._storage_failed = recorded, failed
        self._clock, self._passing = clock, passing
        self._expiry = Expiry(store.engine)
        self._queue: CommandQueue[PendingAsk] = CommandQueue(PENDING_LIMIT, PENDING_SHARE)
        # Any thread appends to these; only the authority's thread takes from them.
        self._owed: deque[Owed] = deque()
        self._drained: deque[tuple[list[str], Future[None]]] = deque()
        self._jobs: deque[tuple[Callable[[Store], Any], Future[Any]]] = deque()
        self._serving: Sequence[PendingAsk] = ()
        self._skew = 0  # the database's clock minus this process's steady clock, in ms
        self._good_at = 0  # steady clock
        self._pause_until = 0  # steady clock
        self._failing = False
        self._failed_at = -FAULT_SHOWN_MS  # steady clock
        self._fault_words = ""  # why the storage failed last
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="authority", daemon=True)

    # --- for other threads -----------------------------------------------------------------------

    async def ask(self, ask: Ask) -> Answer:
        """Decide one command. Raises Unavailable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        item = PendingAsk(ask, future, loop)
        if not self._queue.put(item):
            raise Unavailable("the authority is not taking commands now")
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                # The answer came at the moment when the caller was cancelled.
                self._owe(granted([item], [future.result()]))
            raise

    def drained(self, receipt_ids: list[str]) -> "Future[None]":
        """Take these receipts out of the outbox in the next transaction: the ledger has them."""
        done: Future[None] = Future()
        self._drained.append((receipt_ids, done))
        self._wake()
        return done

    def run(self, job: Callable[[Store], T]) -> "Future[T]":
        """Run `job` on the authority's thread, between batches, because it writes over the connection
        there."""
        done: Future[T] = Future()
        self._jobs.append((job, done))
        self._wake()
        return done

    def prove(self, store: Store) -> None:
        """A job for `run`: raise StorageFault unless a write succeeds now and none failed just before."""
        if not self._pausing() and steady_ms() - self._good_at > PROVEN_MS:
            self._serve(Batch())
        if self._failing or steady_ms() - self._failed_at < FAULT_SHOWN_MS:
            raise StorageFault(self._fault_words)

    async def tick(self) -> None:
        """End what has expired now, without waiting for the thread to look."""
        await asyncio.wrap_future(self.run(lambda store: self._look()))

    def clock_ahead_ms(self) -> int:
        """By how many ms the authority's clock is ahead of the machine's; 0 for the clock of a test."""
        clock = self._clock()
        if clock is not None and not isinstance(clock, SteadyClock):
            return 0
        return self._now() - wall_ms()

    def start(self) -> None:
        """Raises StorageFault when the first transaction fails."""
        batch = Batch()
        batch.transact(self._store, self._clock())
        self._good(batch)
        self._thread.start()

    def stop(self) -> None:
        """Answer the commands that have arrived, then end. Idempotent."""
        self._queue.close()
        if self._thread.ident is None:
            self._store.engine.close()
            return
        self._thread.join(timeout=STOP_S)
        if self._thread.is_alive():
            logger.error("the storage of leases hangs: the authority ends without it")
            refuse([*self._serving, *self._queue.take(PENDING_LIMIT, 0)], "the authority has ended")

    # --- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not (self._queue.closed and not self._queue):
                self._safely(self._turn)
            self._safely(self._last_turn)
        finally:
            self._ended = True
            self._wake()
            self._store.engine.close()

    def _safely(self, turn: Callable[[], None]) -> None:
        try:
            turn()
        except Exception:
            logger.exception("a turn of the authority failed")
            refuse(self._serving, "the authority failed")
            self._pause()

    def _turn(self) -> None:
        asked_before = bool(self._serving)  # their callers may ask again at once
        items = self._serving = self._queue.take(BATCH, self._patience_s())
        self._do_jobs()
        due = self._due(beside=bool(items) or asked_before)
        pulse = steady_ms() - self._good_at >= PULSE_MS
        if items or ((due.resources or self._owed or self._drained or pulse) and not self._pausing()):
            self._serve(Batch(items, *due, take(self._owed, OWED_AT_ONCE), take(self._drained, BATCH)))

    def _last_turn(self) -> None:
        """Return what the last callers did not receive: they cannot ask again here."""
        if self._owed:
            self._serve(Batch(owed=take(self._owed, OWED_AT_ONCE)))

    def _pause(self) -> None:
        """Do nothing by oneself with the storage for a moment; commands that arrive still use it."""
        self._pause_until = steady_ms() + RETRY_MS

    def _pausing(self) -> bool:
        return steady_ms() < self._pause_until

    def _now(self) -> int:
        clock = self._clock()
        return clock() if clock is not None else steady_ms() + self._skew

    def _patience_s(self) -> float:
        """How long the thread may sleep when nothing arrives."""
        steady = steady_ms()
        if self._queue.closed or self._jobs:
            return 0
        if steady < self._pause_until:
            return (self._pause_until - steady) / 1000
        if self._owed or self._drained:
            return 0
        pulse = max(0, self._good_at + PULSE_MS - steady)
        expiry = self._expiry.wait_ms(self._now())
        return min(pulse, pulse if expiry is None else expiry) / 1000

    def _due(self, beside: bool) -> Due:
        if self._pausing():
            return Due()
        began = steady_ms()
        try:
            return self._expiry.due(self._now(), beside)
        except StorageFault as fault:
            self._fault(fault, began)
            return Due()

    def _look(self) -> None:
        seen: list[Key] = []
        while (due := first_due(self._store.engine, self._now())).resources not in ([], seen):
            seen = due.resources  # found again when they could not be settled
            self._serve(Batch((), *due))

    def _do_jobs(self) -> None:
        for job, done in take(self._jobs):
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(job(self._store))
                except Exception as error:
                    done.set_exception(error)

    def _wake(self) -> None:
        """Wake the thread: it has something to do besides commands."""
        self._queue.wake()
        if self._ended:
            for _, done in (*take(self._jobs), *take(self._drained)):
                if done.set_running_or_notify_cancel():
                    done.set_exception(Unavailable("the authority has ended"))

    def _owe(self, owed: Sequence[Owed]) -> None:
        self._owed.extend(owed)
        self._wake()

    # --- a batch ---------------------------------------------------------------------------------

    def _serve(self, batch: Batch) -> None:
        began = steady_ms()
        try:
            batch.transact(self._store, self._clock(), self._passing)
        except WriteRefused as fault:
            self._divide(batch, fault)
        except StorageFault as fault:
            self._owed.extendleft(reversed(batch.owed))
            self._drained.extendleft(reversed(batch.drained))
            if isinstance(fault, InDoubt):
                self._owed.extend(granted(batch.items, batch.answers))
            refuse(batch.items, "the storage of leases did not answer")
            self._fault(fault, began)
        except Exception as error:
            self._divide(batch, error)
        else:
            self._good(batch)

    def _divide(self, batch: Batch, error: Exception) -> None:
        """Decide the parts of a batch by themselves: one of them is at fault, and must fail alone."""
        parts = batch.split()
        for part in parts:
            self._serve(part)
        if not parts:
            logger.error("could not be decided: %s", batch.names(), exc_info=error)
            refuse(batch.items, "this command could not be decided")
            for _, done in batch.drained:
                done.set_exception(error)
            if batch.due:
                self._pause()  # else it would be due again at once

    def _fault(self, fault: StorageFault, began: int) -> None:
        if not self._failing:
            logger.error("the storage of leases fails: %s", fault)
        self._storage_failed()
        self._failing, self._failed_at, self._fault_words = True, steady_ms(), str(fault)
        self._pause()
        if self._queue.closed or steady_ms() - began >= SLOW_FAULT_MS:
            # Else callers would wait for one slow failure after another.
            refuse(self._queue.take(PENDING_LIMIT, 0), "the storage of leases did not answer")

    def _good(self, batch: Batch) -> None:
        if self._failing:
            logger.warning("the storage of leases answers again")
        self._failing = False
        self._good_at = steady_ms()
        self._skew = batch.now - batch.read_at
        for answer in batch.answers:
            answer.sign()
        deliver(batch.items, batch.answers, self._owe)
        for _, done in batch.drained:
            done.set_result(None)
        if batch.next_due is not None:
            self._expiry.expect(batch.next_due)
        for workspace, events in batch.events.items():
            if self._wanted(workspace):
                self._publish(workspace, [serialize.event(event) for event in events])
        if batch.recorded:
            self._recorded()
