"""What a server process runs beside requests: its parts, started in order and stopped in the reverse order.

A process has one `Parts`, which `intramedial.asgi` builds from the authority, the live boards, MCP and the
rest. A test can build another one, start it and stop it.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from intramedial.databases import disk, threads
from intramedial.ledger import log
from intramedial.postgresql import sessions
from intramedial.receipts import receipt, signing

Action = Callable[[], Awaitable[object] | None]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Part:
    """One part. `start` and `stop` run on the event loop and may be coroutine functions."""

    start: Action = _nothing
    stop: Action = _nothing


class Parts:
    """The parts of a process, in the order in which they start."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts
        self._started: list[Part] = []

    async def start(self) -> None:
        """Start all parts. If one raises, stop those that were started, and raise that error."""
        try:
            for part in self._parts:
                await _run(part.start)
                self._started.append(part)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the parts that were started."""
        while self._started:
            await _run(self._started.pop().stop)


async def _run(action: Action) -> None:
    result = action()
    if inspect.isawaitable(result):
        await result


def in_thread(action: Callable[[], Any]) -> Action:
    """A blocking `start` or `stop` as one that runs in a thread."""
    return lambda: asyncio.to_thread(action)


def forget() -> None:
    """Close the threads that keep database connections, and forget what the platform remembers in this
    process: recent receipts, signing keys, the ledger's size, addresses of poolers, the disk. All of it comes
    back when it is needed."""
    threads.close_all()
    receipt.forget()
    signing.forget()
    log.forget()
    sessions.forget()
    disk.forget()
