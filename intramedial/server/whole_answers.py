"""A request that is all there, and its answer.

uvicorn looks at each field of each head that it writes, which costs a short answer more than its making. So
the application may hand over a whole answer, whose fields it has looked at itself.
"""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from intramedial.http.extensions import WHOLE
from intramedial.server.listener import PageTurns


class Whole(RequestResponseCycle):
    """A request that is all there, and its answer."""

    def __init__(
        self,
        protocol: Any,
        scope: Any,
        body: bytes,
        keep_alive: bool,
        done: Callable[[], None],
    ) -> None:
        super().__init__(
            scope=scope,
            transport=protocol.transport,
            flow=protocol.flow,
            logger=protocol.logger,
            access_logger=protocol.access_logger,
            access_log=protocol.access_log,
            default_headers=protocol.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,  # the protocol sends it
            keep_alive=keep_alive,
            on_response=done,
        )
        self.more_body = False
        self._unread: bytes | None = body

    async def receive(self) -> Any:
        """See ASGI: the whole body, then nothing until the end."""
        body, self._unread = self._unread, None
        if body is None or self.disconnected or self.response_complete:
            return await super().receive()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        """See ASGI. For a whole answer: what `super().send` does for a start and a body, without looking at
        the fields."""
        if message["type"] != WHOLE:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        self.response_started = self.response_complete = True
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        own = lines(tuple(self.default_headers))
        self.transport.write_now(
            b"".join((STATUS_LINE[message["status"]], own, message["head"], end, message["body"]))
        )
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class InTurn(Whole):
    """A request for a page, which waits for its turn and keeps it until its answer begins."""

    def __init__(self, turns: PageTurns, protocol: Any, *given: Any) -> None:
        super().__init__(protocol, *given)
        self._turns: PageTurns | None = turns
        self._waiting = protocol  # not kept: it has a reference to this

    async def run_asgi(self, app: Any) -> None:
        """Run the application when it is this request's turn. A request whose client has gone is dropped."""
        assert self._turns is not None
        waiting, self._waiting = self._waiting, None
        await self._turns.take(waiting)
        try:
            if not self.disconnected:
                await super().run_asgi(app)
        finally:
            self._end_turn()

    async def send(self, message: Any) -> None:
        """See ASGI. A long answer takes as long as its client wants, so the turn ends before it."""
        self._end_turn()
        await super().send(message)

    def _end_turn(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.give_back()


@lru_cache(maxsize=2)
def lines(fields: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Header fields as they are written. Cached for the server's own fields, which change once a second."""
    return b"".join(b"%b: %b\r\n" % field for field in fields)
