"""The process context: everything of coordination that lives as long as the process.

`current()` is the one context of this process. `coordination.apps` makes it, and the server starts and closes
it. A test can build another one, put it in place with `use`, and shut it down. `thread.py` documents the
authority.

The functions at the end are for commands that run while no server does.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from coordination.storage.clock import AHEAD_MS, Clock, ClockWatch, SteadyClock, in_words
from coordination.storage.engines.base import Standing
from coordination.storage.opening import (
    Reader,
    open_engine,
    outbox_limit,
    prepare_files,
    rules,
    unused_days,
)
from coordination.storage.store import PULSE_MS, Backlog, StorageFault, Store
from intramedial.databases import disk

from . import recovery, restoring
from .maintenance import FindGone, Housekeeper, keep_house, none_gone
from .outbox import Drain
from .publisher import Publisher
from .replies import Answer, Ask, Unavailable
from .thread import BATCH, Authority

__all__ = [
    "BATCH",
    "Answer",
    "Ask",
    "Authority",
    "Process",
    "StorageFault",
    "Unavailable",
    "check_files",
    "current",
    "get",
    "look",
    "purge_offline",
    "restore",
    "rules",
    "use",
]


class OnLoop(Protocol):
    """A part that runs on an event loop: the hub of the live boards."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    async def stop(self) -> None: ...


class Process:
    """The authority of a process, and all that works for it.

    `clock` is the authority's clock; None means the database's. An embedded authority installs a steady clock
    when it starts without one. `passing` are agents that were made for one run: their receipts are signed and
    stay out of the ledger. `publisher` sends events to the live boards, `reader` reads without deciding, and
    `hub` is set by `coordination.live` on the event loop that serves.
    """

    def __init__(
        self, gone: FindGone = none_gone, used: Callable[[], bool] = bool, clock: Clock | None = None
    ) -> None:
        """`gone` returns which of some workspaces no longer exist; housekeepers call it in their threads,
        once a day. `used` returns whether there are workspaces; see `sqlite.files.prepare`."""
        self.gone = gone
        self.used = used
        self.clock = clock
        self.passing: set[str] = set()
        self.publisher = Publisher()
        self.reader = Reader(self.installed_clock)
        self.hub: OnLoop | None = None
        self.authority: Authority | None = None
        self._lock = threading.Lock()
        self._backlog = Backlog()
        self._drain: Drain | None = None
        self._housekeeper: Housekeeper | None = None
        self._clock_watch: ClockWatch | None = None

    def installed_clock(self) -> Clock | None:
        """The clock as it is now, for parts that are made once."""
        return self.clock

    def start(self, outage_after_ms: int | None = 5_000) -> Authority:
        """Open the authority, with its housekeeper, its clock watch and the drain of its outbox. Idempotent.

        Raises StorageFault when the database cannot be opened, or another process is the authority over it.
        """
        with self._lock:
            if self.authority is None:
                prepare_files(self.used)
                engine = open_engine(marked=True)
                try:
                    restoring.take(engine)
                    if not engine.shared and self.clock is None:
                        self.clock = SteadyClock(engine.latest() + PULSE_MS)
                    self._open(
                        Store(engine, rules(), _name(), outage_after_ms, True, Backlog(outbox_limit()))
                    )
                except BaseException:
                    engine.close()
                    raise
            assert self.authority is not None
            return self.authority

    def _open(self, store: Store) -> None:
        drain = Drain(store.backlog)
        authority = Authority(
            store,
            publish=self.publisher.publish,
            wanted=self.publisher.wanted,
            recorded=drain.wake,
            failed=disk.look,
            clock=self.installed_clock,
            passing=self.passing,
        )
        authority.start()
        drain.start(authority.drained)
        housekeeper = Housekeeper(
            lambda: open_engine(readonly=True),
            lambda job: authority.run(job).result(timeout=60),
            unused_days(),
            self.gone,
        )
        housekeeper.start()
        watch = ClockWatch(authority.clock_ahead_ms)
        watch.start()
        self._backlog, self._drain, self._housekeeper, self._clock_watch = (
            store.backlog,
            drain,
            housekeeper,
            watch,
        )
        self.authority = authority

    def stop(self) -> None:
        """Answer the commands that have arrived, end the threads and close the connections. Idempotent."""
        with self._lock:
            for part in (self._clock_watch, self._drain, self._housekeeper, self.authority):
                if part is not None:
                    part.stop()
            self.authority = self._drain = self._housekeeper = self._clock_watch = None
        self.reader.close()

    async def close(self) -> None:
        """`stop`, then send what is left to the live boards and stop their hub, if it is on this event
        loop."""
        await asyncio.to_thread(self.stop)
        await self.close_hub()
        await asyncio.to_thread(self.reader.close)  # the boards may have read after `stop`

    async def close_hub(self) -> None:
        """Send what is left to the live boards and stop their hub, if it is on this event loop."""
        hub, self.hub = self.hub, None
        if hub is not None and hub.loop is asyncio.get_running_loop():
            await hub.stop()

    # --- what operators look at ------------------------------------------------------------------

    def ledger_fault(self) -> str:
        """Why the last attempt to move receipts to the ledger failed; empty when it did not, or none was
        made."""
        return "" if self._drain is None else self._drain.fault

    def dropped(self) -> int:
        """How many entries the ledger lacks for good since the authority started: see `Backlog`."""
        return self._backlog.dropped

    def clock_ahead(self) -> str:
        """By how much the authority's clock is ahead of the machine's, in words; empty for less than
        `AHEAD_MS`."""
        ahead_ms = 0 if self.authority is None else self.authority.clock_ahead_ms()
        return in_words(ahead_ms) if ahead_ms >= AHEAD_MS else ""

    async def check(self) -> dict[str, Any]:
        """What an operator should know of the leases, once this process has proved that it can write them
        now.

        `restored`: when the database was restored last, and above which number all tokens are since then.
        `clockAheadMs`: by how much the authority's clock is ahead of the machine's, if by `AHEAD_MS` or more.
        Raises StorageFault. Storage that hangs makes this hang: the caller sets a time limit.
        """
        authority = self.authority or self.start()

        def ask(store: Store) -> Standing | None:
            authority.prove(store)
            return store.engine.standing()

        restored = restoring.last_restore(await asyncio.wrap_future(authority.run(ask)))
        ahead = authority.clock_ahead_ms()
        return {
            **({} if restored is None else {"restored": restored}),
            **({} if ahead < AHEAD_MS else {"clockAheadMs": ahead}),
        }


def _name() -> str:
    """The name of a process in the table of pulses."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


_current = Process()


def current() -> Process:
    """The context of this process."""
    return _current


def use(process: Process) -> Process:
    """Make `process` the context of this process; returns the one before, which is neither started nor
    stopped."""
    global _current
    before, _current = _current, process
    return before


def get() -> Authority:
    """The running authority of this process. It starts here under servers that send no lifespan events."""
    return _current.authority or _current.start()


# --- without a server ----------------------------------------------------------------------------


def check_files() -> None:
    """Look at the embedded database's files before any program opens them; see `sqlite.files.prepare`.

    Raises StorageFault, with words, when they are missing and should not be.
    """
    prepare_files(_current.used)


def restore(source: Path | None = None, new: bool = False) -> dict[str, Any]:
    """See `manage.py restore`. Raises Unavailable, with words."""
    try:
        return recovery.restore(source, new)
    except StorageFault as fault:
        raise Unavailable(str(fault)) from fault


def look() -> dict[str, Any]:
    """What is known of the leases while no server runs; see `recovery.look`."""
    return recovery.look(_current.used)


def purge_offline(days: int | None = None) -> int:
    """Do the housekeeping now, from a process that is no server; returns how many resources were
    forgotten.

    `days`: forget resources that were not used for so long; by default as the setting says. On PostgreSQL
    this also works beside running servers. Raises Unavailable, with words, when the storage does not answer,
    or when an embedded server is running, which does the housekeeping itself once a day.
    """
    try:
        check_files()
        recovery.refuse_newer()
        with closing(open_engine(marked=True)) as engine, closing(open_engine(readonly=True)) as read:
            restoring.take(engine)
            now = engine.latest() if engine.shared else SteadyClock(engine.latest())()
            store = Store(engine, rules(), "purge")
            unused = unused_days() if days is None else days
            return keep_house(read, lambda job: job(store), now, unused, _current.gone)
    except StorageFault as fault:
        raise Unavailable(f"{fault}. A server that runs purges once a day; to do it now, stop it.") from fault
