"""The authority: the one door to leases.

One thread takes all commands that have arrived, decides them in order in one transaction, and answers them
together once that is durable. It is the alarm as well: between commands it looks at what has run out.

What a caller may rely on
-------------------------
- An answer is given after its commit. When storage fails, or a commit's outcome is not known, every caller of
  the batch gets `Unavailable`; leases that were granted in it and are there after all are given back, without
  a trust move, before anything else is decided, unless their agent has asked again meanwhile.
- Grouping is invisible: commands of one workspace are decided in the order of their arrival, at one instant;
  a command that fails fails alone.
- Receipts are signed outside, from claims fixed within the transaction. Events, the ledger and its outbox are
  told afterwards. None of them can delay or fail a lease.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from . import broadcast, clock, wire
from .alarm import Alarm
from .asks import Answer, Ask, Owed, Pending, Unavailable, deliver, granted
from .batch import Batch
from .inbox import Inbox
from .opening import open_engine, rules
from .outbox import Drain
from .store import StorageFault, Store

__all__ = ["Answer", "Ask", "Authority", "StorageFault", "Unavailable", "get", "start", "stop"]

logger = logging.getLogger(__name__)

BATCH = 256
PENDING_LIMIT = 20_000
PULSE_MS = 1_000
RETRY_MS = 200


class Authority:
    """One per process and database. `publish` gets a workspace and its events, `recorded` is called when the
    outbox has something new; both from the authority's thread, and must return at once."""

    def __init__(
        self,
        store: Store,
        publish: Callable[[str, list[Any]], None] = broadcast.publish,
        recorded: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._publish = publish
        self._recorded = recorded
        self._alarm = Alarm(store.engine)
        self._inbox: Inbox[Pending] = Inbox()
        self._owed: deque[Owed] = deque()
        self._drained: deque[tuple[list[str], Future[None]]] = deque()
        self._jobs: deque[tuple[Callable[[Store], Any], Future[Any]]] = deque()
        self._skew = 0  # the database's clock minus this process's steady clock, in ms
        self._good_at = 0  # steady clock
        self._pause_until = 0  # steady clock
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="authority", daemon=True)

    # --- the door --------------------------------------------------------------------------------

    async def ask(self, ask: Ask) -> Answer:
        """Decide one command. Raises Unavailable."""
        if self._stopping or len(self._inbox) >= PENDING_LIMIT:
            raise Unavailable("the authority is not taking commands")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._inbox.put(Pending(ask, future, loop))
        return await future

    def drained(self, receipt_ids: list[str]) -> "Future[None]":
        """The ledger has these by now: take them out of the outbox, in the next transaction."""
        done: Future[None] = Future()
        self._drained.append((receipt_ids, done))
        self._inbox.wake()
        return done

    def run(self, job: Callable[[Store], Any]) -> "Future[Any]":
        """Run `job` on the authority's thread, between batches: what must write through its connection."""
        done: Future[Any] = Future()
        self._jobs.append((job, done))
        self._inbox.wake()
        return done

    async def tick(self) -> None:
        """Look now at what has run out, as the alarm would."""
        await asyncio.wrap_future(self.run(lambda store: self._look()))

    def start(self) -> None:
        """Raises StorageFault when the first transaction fails."""
        batch = Batch(())
        batch.transact(self._store, clock.installed())
        self._good(batch)
        self._thread.start()

    def stop(self) -> None:
        """Answer what has arrived, then end. Idempotent."""
        self._stopping = True
        self._inbox.wake()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self._store.engine.close()

    # --- the thread ------------------------------------------------------------------------------

    def _now(self) -> int:
        installed = clock.installed()
        return installed() if installed is not None else clock.steady_ms() + self._skew

    def _run(self) -> None:
        while not (self._stopping and not self._inbox):
            items = self._inbox.take(BATCH, 0 if self._stopping else self._patience_s())
            while self._jobs:
                self._do(*self._jobs.popleft())
            due = [] if items and self._pausing() else self._due()
            pulse = clock.steady_ms() - self._good_at >= PULSE_MS and not self._pausing()
            if items or due or self._drained or pulse:
                self._serve(items, due)

    def _pausing(self) -> bool:
        return clock.steady_ms() < self._pause_until

    def _patience_s(self) -> float:
        """How long the thread may sleep when nothing arrives."""
        steady = clock.steady_ms()
        if steady < self._pause_until:
            return (self._pause_until - steady) / 1000
        pulse = max(0, self._good_at + PULSE_MS - steady)
        alarm = self._alarm.wait_ms(self._now())
        return min(pulse, pulse if alarm is None else alarm) / 1000

    def _due(self) -> list[str]:
        if self._pausing():
            return []
        try:
            return self._alarm.due(self._now())
        except StorageFault as fault:
            self._fault(fault)
            return []

    def _look(self) -> None:
        workspaces = self._store.engine.due_workspaces(self._now(), 1_000_000)
        if workspaces:
            self._serve((), workspaces)

    def _do(self, job: Callable[[Store], Any], done: "Future[Any]") -> None:
        try:
            done.set_result(job(self._store))
        except Exception as error:
            done.set_exception(error)

    def _serve(self, items: Sequence[Pending], due: Sequence[str]) -> None:
        batch = Batch(items, due, list(self._owed), list(self._drained))
        try:
            batch.transact(self._store, clock.installed())
        except StorageFault as fault:
            self._fault(fault)
            self._fail(batch, "the storage of leases did not answer")
        except Exception:
            if len(items) > 1:
                for item in items:  # one of them is at fault, and shall fail alone
                    self._serve([item], due)
                return
            logger.exception("a command could not be decided")
            self._pause_until = clock.steady_ms() + (0 if items else RETRY_MS)
            self._fail(batch, "this command could not be decided")
        else:
            self._good(batch)

    def _fault(self, fault: StorageFault) -> None:
        logger.error("storage of leases failed: %s", fault)
        self._pause_until = clock.steady_ms() + RETRY_MS

    def _fail(self, batch: Batch, why: str) -> None:
        self._owed.extend(granted(batch.items, batch.answers))
        deliver(batch.items, [Unavailable(why)] * len(batch.items), self._owed)

    def _good(self, batch: Batch) -> None:
        self._good_at = clock.steady_ms()
        self._skew = batch.now - self._good_at
        for owed in batch.owed:
            self._owed.remove(owed)
        deliver(batch.items, batch.answers, self._owed)
        for drained in batch.drained:
            self._drained.remove(drained)
            drained[1].set_result(None)
        if batch.next_due is not None:
            self._alarm.expect(batch.next_due)
        for workspace, events in batch.events.items():
            self._publish(workspace, [wire.event(event) for event in events])
        if batch.recorded:
            self._recorded()


# --- the process's own ---------------------------------------------------------------------------

_lock = threading.Lock()
_authority: Authority | None = None
_drain: Drain | None = None


def start(outage_after_ms: int | None = 5_000) -> Authority:
    """Open the authority of this process, with its alarm and the drain of its outbox. Idempotent.

    Raises StorageFault when the database cannot be had, or another process is the authority over it.
    """
    global _authority, _drain
    with _lock:
        if _authority is None:
            engine = open_engine()
            try:
                if not engine.shared and clock.installed() is None:
                    clock.install(clock.SteadyClock(engine.latest()))
                drain = Drain()
                store = Store(engine, rules(), outage_after_ms=outage_after_ms)
                authority = Authority(store, recorded=drain.wake)
                authority.start()
            except BaseException:
                engine.close()
                raise
            drain.start(authority.drained)
            _authority, _drain = authority, drain
        return _authority


def stop() -> None:
    """Answer what has arrived and close. Idempotent."""
    global _authority, _drain
    with _lock:
        if _drain is not None:
            _drain.stop()
        if _authority is not None:
            _authority.stop()
        _authority = _drain = None


def get() -> Authority:
    """The authority of this process, started if it was not (under servers that send no lifespan events)."""
    return _authority or start()
