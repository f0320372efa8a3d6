"""What is still to be sent to one client: little, and shared with everyone else in the room."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from intramedial.server.websocket import SharedText

BACKLOG = 4


class Message(NamedTuple):
    """A message without its `seq`: what goes before it, and what goes after it, the same for all sockets."""

    before: str
    after: SharedText

    @classmethod
    def of(cls, kind: str, body: dict[str, Any]) -> "Message":
        """The message of this type with these members, at least one."""
        return cls(f'{{"type":"{kind}","seq":', SharedText("," + orjson.dumps(body)[1:].decode()))


class Socket:
    """What one client has still to be sent: at most `BACKLOG` messages, and those are shared with the room. A
    client that falls further behind skips to a snapshot when it reads again."""

    def __init__(self, request: "Callable[[Socket], None]") -> None:
        """`request` asks for a snapshot."""
        self.seq = 0
        self._request = request
        self._queue: list[Message] = []
        self._behind = False
        self._wake = asyncio.Event()

    def offer(self, message: Message, whole: bool = False) -> None:
        """Put a message into the queue; a `whole` one, a snapshot, replaces what is there."""
        if whole:
            self._queue, self._behind = [], False
        elif len(self._queue) >= BACKLOG:
            self._queue, self._behind = [], True
        if not self._behind:
            self._queue.append(message)
        self._wake.set()

    def request(self) -> None:
        """Ask for a snapshot."""
        self._request(self)

    async def next(self) -> tuple[str, SharedText]:
        """The next message: its beginning, with the next `seq`, and the rest."""
        while not self._queue:
            if self._behind:
                self.request()
            self._wake.clear()
            await self._wake.wait()
        before, after = self._queue.pop(0)
        self.seq += 1
        return f"{before}{self.seq}", after
