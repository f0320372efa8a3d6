"""uvicorn's HTTP, for many short requests: each read whole before it begins, and answered in one write.

uvicorn begins an application when the head of a request is there and lets it wait for the body; it writes the
head of an answer and its body by themselves, two system calls and two packets that wake the client twice; and
it looks at each field of each head, which costs a short answer more than its making. So a short request of
the API is given to the application when all of it is there, and the application may hand over a whole answer,
whose fields it has looked at itself. All else, pages above all, goes uvicorn's own way.
"""

import asyncio
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

WHOLE = "intramedial.whole"
"""An ASGI extension and its message: `{"type": WHOLE, "status", "head", "body"}` is a whole answer. `head` is
fields as they are written, each with its CRLF, `content-length` among them and `connection` not."""

HELD = 65_536
"""Bytes that are held back at most until the turn ends."""

SHORT = b"/api/"
SHORT_TARGET, SHORT_BODY = 256, 16_384
"""What the target of a short request begins with; its length and its body's, at most."""

_EXTENSIONS: dict[str, dict[str, Any]] = {WHOLE: {}}


class OneWrite:
    """A transport that joins what it is given. Everything else is its own transport's."""

    __slots__ = ("_held", "_loop", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write_now(self, data: bytes) -> None:
        """Write what is held, and this, now."""
        self._held.append(data)
        self.flush()

    def write(self, data: bytes) -> None:
        """Write it when this turn of the loop ends, or when there is much."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self._held:
            data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
            self._held.clear()
            self._size = 0
            # Whose client went away is closed before anybody is told.
            if not self._transport.is_closing():
                self._transport.write(data)

    def close(self) -> None:
        """Write what is held, then close."""
        self.flush()
        self._transport.close()

    def own(self) -> asyncio.Transport:
        """The transport itself, with nothing held."""
        self.flush()
        return self._transport


class Whole(RequestResponseCycle):
    """A request that is all there, and its answer."""

    def __init__(self, protocol: HttpToolsProtocol, scope: Any, body: bytes, keep_alive: bool) -> None:
        super().__init__(
            scope=scope,
            transport=protocol.transport,
            flow=protocol.flow,
            logger=protocol.logger,
            access_logger=protocol.access_logger,
            access_log=protocol.access_log,
            default_headers=protocol.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=keep_alive,
            on_response=protocol.on_response_complete,
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
        """See ASGI. What `super().send` does for a start and a body, with nothing left to look at, when the
        answer is whole."""
        if message["type"] != WHOLE:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        self.response_started = self.response_complete = True
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        own = _lines(tuple(self.default_headers))
        self.transport.write_now(
            b"".join((STATUS_LINE[message["status"]], own, message["head"], end, message["body"]))
        )
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class Protocol(HttpToolsProtocol):
    """`HttpToolsProtocol` on such a transport, for as long as it is HTTP that is spoken."""

    _arriving: list[bytes] | None = None  # the body of a short request, as far as it is there
    _idle_since: float | None = None  # by the loop's clock; None while something is asked or answered
    _ending = False  # the server ends: what is arriving is the last that is answered

    def connection_made(self, transport: asyncio.Transport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(OneWrite(transport, self.loop))

    def on_headers_complete(self) -> None:
        """Wait for the body of a short request; begin any other one now."""
        if self._is_short():
            self._arriving = []
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note a part of the body."""
        if self._arriving is None:
            super().on_body(body)
        else:
            self._arriving.append(body)

    def on_message_complete(self) -> None:
        """Begin a short request; when one before it is not answered yet, after that."""
        if self._arriving is None:
            super().on_message_complete()
            return
        body, self._arriving = b"".join(self._arriving), None
        self.scope["method"] = "POST"
        self.scope["extensions"] = _EXTENSIONS
        self.scope["path"], self.scope["raw_path"], self.scope["query_string"] = _target(self.url)
        keep_alive = self.parser.should_keep_alive() and not self._ending
        before, self.cycle = self.cycle, Whole(self, self.scope, body, keep_alive)
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _is_short(self) -> bool:
        return (
            self.url.startswith(SHORT)
            and len(self.url) <= SHORT_TARGET
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and self._declared() <= SHORT_BODY
        )

    def _declared(self) -> int:
        """The length of the body; beyond any that is short when it is not said, or is long."""
        # The parser takes one Content-Length, of digits, and none beside a Transfer-Encoding.
        for name, value in self.headers:
            if name == b"content-length" and len(value) < 9:
                return int(value)
        return SHORT_BODY + 1

    # uvicorn makes a timer for each answer, for the next request to cancel; one for a connection will do.

    def on_response_complete(self) -> None:
        """Go on with what was asked meanwhile, or wait as long as an idle connection is kept."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        if self._arriving is not None:
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again_in(self.timeout_keep_alive)

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that has been idle for so long; look again when it may have been."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None or self.transport.is_closing():
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_again_in(left)
        else:
            self.transport.close()

    def _look_again_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    def shutdown(self) -> None:
        """The server ends: close the connection, after the answer to what is asked or still arriving."""
        if self._arriving is not None and (self.cycle is None or self.cycle.response_complete):
            self._ending = True
        else:
            super().shutdown()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the protocol of live sockets."""
        if isinstance(self.transport, OneWrite):
            self.transport = self.transport.own()
        super().handle_websocket_upgrade()


@lru_cache(maxsize=64)
def _target(url: bytes) -> tuple[str, bytes, bytes]:
    """Path, path as it was written, and query. Raises HttpParserError."""
    parsed = httptools.parse_url(url)
    return unquote(parsed.path.decode("ascii")), parsed.path, parsed.query or b""


@lru_cache(maxsize=2)
def _lines(fields: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The server's own fields, which change once a second."""
    return b"".join(b"%b: %b\r\n" % field for field in fields)
