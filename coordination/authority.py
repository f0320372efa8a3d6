"""This process's authority: opened and closed with the process, one for all who ask.

What it is and promises is told in `door.py`.
"""

import os
import secrets
import threading

from . import clock
from .asks import Answer, Ask, Unavailable
from .door import BATCH, Authority
from .opening import open_engine, rules
from .outbox import Drain
from .store import StorageFault, Store

__all__ = [
    "BATCH",
    "Answer",
    "Ask",
    "Authority",
    "StorageFault",
    "Unavailable",
    "get",
    "rules",
    "start",
    "stop",
]

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
                process = f"{os.getpid()}-{secrets.token_hex(4)}"
                store = Store(engine, rules(), process, outage_after_ms, remember=not engine.shared)
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
