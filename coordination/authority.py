"""This process's authority: opened and closed with the process, one for all who ask.

What it is and promises is told in `door.py`.
"""

import asyncio
import os
import secrets
import threading
from contextlib import closing

from intramedial import disk

from . import clock
from .asks import Answer, Ask, Unavailable, passing
from .backlog import Backlog
from .door import BATCH, Authority
from .housekeeping import Gone, Housekeeper, keep_house, none_gone
from .opening import open_engine, outbox_limit, rules, unused_days
from .outbox import Drain
from .store import PULSE_MS, StorageFault, Store

__all__ = [
    "BATCH",
    "Answer",
    "Ask",
    "Authority",
    "StorageFault",
    "Unavailable",
    "ask_which_are_gone",
    "check",
    "dropped",
    "get",
    "ledger_fault",
    "passing",
    "purge_offline",
    "rules",
    "start",
    "stop",
]

_lock = threading.Lock()
_authority: Authority | None = None
_drain: Drain | None = None
_backlog = Backlog()
_housekeeper: Housekeeper | None = None
_gone: Gone = none_gone


def ask_which_are_gone(gone: Gone) -> None:
    """Have housekeepers ask this which workspaces are no more; called in their threads, once a day."""
    global _gone
    _gone = gone


def start(outage_after_ms: int | None = 5_000) -> Authority:
    """Open the authority of this process, with its alarm, its housekeeper and the drain of its outbox.
    Idempotent.

    Raises StorageFault when the database cannot be had, or another process is the authority over it.
    """
    global _authority, _drain, _housekeeper, _backlog
    with _lock:
        if _authority is None:
            engine = open_engine()
            try:
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
            _authority, _drain, _housekeeper = authority, drain, housekeeper
        return _authority


def stop() -> None:
    """Answer what has arrived and close. Idempotent."""
    global _authority, _drain, _housekeeper
    with _lock:
        for part in (_drain, _housekeeper, _authority):
            if part is not None:
                part.stop()
        _authority = _drain = _housekeeper = None


def get() -> Authority:
    """The authority of this process, started if it was not (under servers that send no lifespan events)."""
    return _authority or start()


async def check() -> None:
    """Raise unless this process can write leases now; a storage that hangs is for the caller to time out."""
    door = get()
    await asyncio.wrap_future(door.run(door.prove))


def ledger_fault() -> str:
    """Why the last attempt to move receipts to the ledger failed; empty when it did not, or none was made."""
    return "" if _drain is None else _drain.fault


def dropped() -> int:
    """Entries that the ledger lacks for good since this process began: see `backlog.py`."""
    return _backlog.dropped


def purge_offline(days: int | None = None) -> int:
    """Keep house now, from a process that is not a server; returns how many resources were forgotten, which
    are those unused for `days` (default: the setting). On PostgreSQL, beside the servers or without them.

    Raises Unavailable, with words, when the storage does not answer or an embedded server is running: that
    keeps house by itself, once a day.
    """
    try:
        with closing(open_engine()) as engine, closing(open_engine(readonly=True)) as read:
            now = engine.latest() if engine.shared else clock.SteadyClock(engine.latest())()
            store = Store(engine, rules(), "purge")
            unused = unused_days() if days is None else days
            return keep_house(read, lambda job: job(store), now, unused, _gone)
    except StorageFault as fault:
        raise Unavailable(f"{fault}. A server that runs purges once a day; to do it now, stop it.") from fault
