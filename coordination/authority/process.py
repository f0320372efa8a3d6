"""This process's authority: opened and closed with the process, one for all who ask.

`thread.py` says what it is and promises.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from coordination.storage import clock
from coordination.storage.backlog import Backlog
from coordination.storage.engines.base import Standing
from coordination.storage.opening import open_engine, outbox_limit, prepare_files, rules, unused_days
from coordination.storage.store import PULSE_MS, StorageFault, Store
from intramedial.databases import disk

from . import recovery, restoring
from .clock_watch import ClockWatch, in_words
from .maintenance import Gone, Housekeeper, keep_house, none_gone
from .outbox import Drain
from .replies import Answer, Ask, Unavailable, passing
from .thread import BATCH, Authority

__all__ = [
    "BATCH",
    "Answer",
    "Ask",
    "Authority",
    "StorageFault",
    "Unavailable",
    "ask_whether_used",
    "ask_which_are_gone",
    "check",
    "check_files",
    "clock_ahead",
    "dropped",
    "get",
    "ledger_fault",
    "look",
    "passing",
    "purge_offline",
    "restore",
    "rules",
    "start",
    "stop",
]

_lock = threading.Lock()
_authority: Authority | None = None
_drain: Drain | None = None
_backlog = Backlog()
_housekeeper: Housekeeper | None = None
_clock_watch: ClockWatch | None = None
_gone: Gone = none_gone
_used: Callable[[], bool] = bool


def ask_which_are_gone(gone: Gone) -> None:
    """Have housekeepers ask this which workspaces are no more; called in their threads, once a day."""
    global _gone
    _gone = gone


def ask_whether_used(used: Callable[[], bool]) -> None:
    """Have `check_files` ask this whether there are workspaces."""
    global _used
    _used = used


def check_files() -> None:
    """Look at the embedded database's files before any program opens them; see
    `engines.sqlite.files.prepare`. Raises StorageFault, with words, when they are missing and should not be.
    """
    prepare_files(_used)


def start(outage_after_ms: int | None = 5_000) -> Authority:
    """Open the authority of this process, with its housekeeper and the drain of its outbox.
    Idempotent.

    Raises StorageFault when the database cannot be had, or another process is the authority over it.
    """
    global _authority, _drain, _housekeeper, _clock_watch, _backlog
    with _lock:
        if _authority is None:
            check_files()
            engine = open_engine(marked=True)
            try:
                restoring.take(engine)
                if not engine.shared and clock.installed() is None:
                    clock.install(clock.SteadyClock(engine.latest() + PULSE_MS))
                backlog = Backlog(outbox_limit())
                drain = Drain(backlog)
                process = f"{os.getpid()}-{secrets.token_hex(4)}"
                store = Store(engine, rules(), process, outage_after_ms, remember=True, backlog=backlog)
                authority = Authority(store, recorded=drain.wake, failed=disk.look)
                authority.start()
            except BaseException:
                engine.close()
                raise
            drain.start(authority.drained)
            housekeeper = Housekeeper(lambda: open_engine(readonly=True), unused_days(), _gone)
            housekeeper.start(lambda job: authority.run(job).result(timeout=60))
            _backlog = backlog
            _clock_watch = ClockWatch(authority.clock_ahead_ms)
            _clock_watch.start()
            _authority, _drain, _housekeeper = authority, drain, housekeeper
        return _authority


def stop() -> None:
    """Answer what has arrived and close. Idempotent."""
    global _authority, _drain, _housekeeper, _clock_watch
    with _lock:
        for part in (_clock_watch, _drain, _housekeeper, _authority):
            if part is not None:
                part.stop()
        _authority = _drain = _housekeeper = _clock_watch = None


def get() -> Authority:
    """The authority of this process, started if it was not (under servers that send no lifespan events)."""
    return _authority or start()


def ledger_fault() -> str:
    """Why the last attempt to move receipts to the ledger failed; empty when it did not, or none was made."""
    return "" if _drain is None else _drain.fault


def dropped() -> int:
    """Entries that the ledger lacks for good since this process began: see `storage/backlog.py`."""
    return _backlog.dropped


def clock_ahead() -> str:
    """By how much the authority's clock is ahead of the machine's, in words; empty if it is not by much."""
    ahead_ms = 0 if _authority is None else _authority.clock_ahead_ms()
    return in_words(ahead_ms) if ahead_ms >= clock.AHEAD_MS else ""


async def check() -> dict[str, Any]:
    """What an operator should know of the leases, once this process has shown that it can write them now.

    `restored`: when the database was restored last, and which token all are above since then. `clockAheadMs`:
    by how much the authority's clock is ahead of the machine's, if that is more than a few seconds. Raises
    StorageFault; a storage that hangs is for the caller to time out.
    """
    running = get()

    def ask(store: Store) -> Standing | None:
        running.prove(store)
        return store.engine.standing()

    restored = restoring.told(await asyncio.wrap_future(running.run(ask)))
    ahead = running.clock_ahead_ms()
    return {
        **({} if restored is None else {"restored": restored}),
        **({} if ahead < clock.AHEAD_MS else {"clockAheadMs": ahead}),
    }


def restore(source: Path | None = None, new: bool = False) -> dict[str, Any]:
    """See `manage.py restore`. Raises Unavailable, with words."""
    try:
        return recovery.restore(source, new)
    except StorageFault as fault:
        raise Unavailable(str(fault)) from fault


def look() -> dict[str, Any]:
    """What is known of the leases while no server runs; see `recovery.look`."""
    return recovery.look(_used)


def purge_offline(days: int | None = None) -> int:
    """Keep house now, from a process that is not a server; returns how many resources were forgotten, which
    are those unused for `days` (default: the setting). On PostgreSQL, beside the servers or without them.

    Raises Unavailable, with words, when the storage does not answer or an embedded server is running: that
    keeps house by itself, once a day.
    """
    try:
        check_files()
        recovery.refuse_newer()
        with closing(open_engine(marked=True)) as engine, closing(open_engine(readonly=True)) as read:
            restoring.take(engine)
            now = engine.latest() if engine.shared else clock.SteadyClock(engine.latest())()
            store = Store(engine, rules(), "purge")
            unused = unused_days() if days is None else days
            return keep_house(read, lambda job: job(store), now, unused, _gone)
    except StorageFault as fault:
        raise Unavailable(f"{fault}. A server that runs purges once a day; to do it now, stop it.") from fault
