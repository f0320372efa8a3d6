"""The messages that wait to be sent to one client: few, and shared with the other sockets of its room."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from intramedial.server.websocket import SharedText

BACKLOG = 4


class Message(NamedTuple):
    """A message as two texts, before and after its `seq`; both are the same for all sockets."""

    before: str
    after: SharedText

    @classmethod
    def of(cls, kind: str, body: dict[str, Any]) -> "Message":
        """The message of type `kind` with the members of `body`, at least one."""
        return cls(f'{{"type":"{kind}","seq":', SharedText("," + orjson.dumps(body)[1:].decode()))


class Socket:
    """The messages for one client: at most `BACKLOG`, shared with the room. A client that falls further
    behind loses them and gets a snapshot when it reads again."""

    def __init__(self, request: "Callable[[Socket], None]") -> None:
        """`request` asks the room for a snapshot for this socket."""
        self.seq = 0
        self._request = request
        self._queue: list[Message] = []
        self._behind = False
        self._wake = asyncio.Event()

    def offer(self, message: Message, whole: bool = False) -> None:
        """Queue a message. A `whole` one is a snapshot and replaces the messages that are queued."""
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
        """Wait for the next message and return its text up to and with `seq`, and the rest."""
        while not self._queue:
            if self._behind:
                self.request()
            self._wake.clear()
            await self._wake.wait()
        before, after = self._queue.pop(0)
        self.seq += 1
        return f"{before}{self.seq}", after
