"""Requests parsed within limits, whatever a client sends and however TCP divides it.

The parser cannot be stopped in the middle of what it is fed. So it is never fed more than one request: at
most up to the next empty line, which ends each head and each chunked body, or as many bytes as the body's
declared length.
"""

import asyncio
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from intramedial.http.problems import Problem
from intramedial.server import refusals, upgrades
from intramedial.server.listener import listener_of
from intramedial.server.refusals import refusal

END = b"\r\n\r\n"
HEAD_BYTES, HEAD_FIELDS = 32_768, 100
CHUNK_BYTES, CHUNK_HEAD = 16_384, 16
"""Bytes of a chunked body that are not content: at most `CHUNK_BYTES`, and `CHUNK_HEAD` for each chunk."""
CHUNKS = 16_384
"""Chunks that a body may have. Each costs as much as hundreds of bytes; an API body may still come byte by
byte."""

LENGTH_DIGITS = 20

API_PREFIXES = (b"/api/", b"/mcp", b"/health/", b"/.well-known/", b"/openapi.json")
SMALL_BODY = 16_384
LARGE_BODIES = 32 * 1024 * 1024
"""Bytes reserved at once, over all connections, for bodies larger than `SMALL_BODY` that are still
arriving."""

BODY_GRACE_S, BODY_BYTES_PER_S = 10, 500
"""After `BODY_GRACE_S` a body must have arrived at this rate."""

FORESEEN = (httptools.HttpParserError, UnicodeError)
"""What the parser's callbacks raise for a malformed request target."""

WAITING, BODY, OWED, REFUSED, GONE = range(5)
"""The states of a connection. WAITING: for a head or the rest of one. BODY: for the rest of a body. OWED: the
application works on the answer. REFUSED: a request was refused, and what still arrives is dropped. GONE: it
is closed, or another protocol has it."""


class Bounded(HttpToolsProtocol):
    """Parses a connection's requests. A subclass handles a complete request (`begin`), a refused one
    (`refuse`), a handshake (`shake_hands`) and the bytes behind a request (`set_aside`)."""

    used = False  # one of its requests has been answered
    state = WAITING
    url = b""  # the target of the request, as far as it has arrived
    _fault: Problem | None = None  # why the request that is being parsed is refused
    _upgrading = False  # its head asks for another protocol
    _partial = False  # a part of its head has arrived
    _budget = HEAD_BYTES  # bytes left for its head
    _left = 0  # bytes of its body still to come, when its length was declared
    _limit = 0  # bytes that its body may have, when it comes in chunks
    _extra = 0  # bytes left for what is not content in its chunks
    _chunks = 0  # chunks it may still have
    _since = 0  # the sweep at which its head was complete
    _reserved = 0  # its part of `LARGE_BODIES`, in bytes
    _tail = b""  # the last bytes parsed, unless an empty line ends there

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.listener = listener_of(server_state, self.loop)
        self.limits = self.listener.limits
        self.due = 0
        self._body = bytearray()

    def begin(self, body: bytes) -> None:
        """Handle a request that has arrived completely."""
        raise NotImplementedError

    def refuse(self, problem: Problem) -> None:
        """Handle a request that is malformed or over a limit."""
        raise NotImplementedError

    def shake_hands(self, fields: upgrades.Fields) -> None:
        """Handle a request for a live socket."""
        raise NotImplementedError

    def set_aside(self, data: bytes) -> None:
        """Handle `data` that came behind the end of a request."""
        raise NotImplementedError

    def parse(self, data: bytes) -> None:
        """Parse up to the end of one request, and set the rest aside."""
        while data:
            size = min(self._left, len(data)) if self._left else self._up_to_empty_line(data)
            if size == len(data):
                part, data = data, b""
            else:
                part, data = data[:size], data[size:]
            self._feed(part)
            if self.state >= OWED:
                break
        if self.state == BODY:
            patience = min(self.limits.body_s, BODY_GRACE_S + len(self._body) // BODY_BYTES_PER_S)
            self.due = self._since + patience + 1
        elif data:
            self.set_aside(data)

    def _up_to_empty_line(self, data: bytes) -> int:
        """How many bytes of `data` may be parsed without passing the end of a request."""
        tail, end = self._tail, 0
        if tail and (at := (tail + data[:3]).find(END)) >= 0:  # it began in the bytes parsed before
            end = at + 4 - len(tail)
        elif (at := data.find(END)) >= 0:
            end = at + 4
        self._tail = b"" if end else (tail + data[-3:])[-3:]
        return end or len(data)

    def _feed(self, part: bytes) -> None:
        if self.state == WAITING:
            self._budget -= len(part)
        else:
            self._extra -= len(part)
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade:
            self._upgrade()
            return
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, Exception) and not isinstance(error.__context__, FORESEEN):
                refusals.log_fault(error.__context__)
            self._fault = self._fault or refusal(400, f"This is not HTTP/1.1: {error}.")
        if self._fault is None:
            if self.state == WAITING:
                self._look_at_partial_head()
            elif self.state == BODY and self._limit and self._extra < 0:
                self._fault = refusal(
                    413, "The body has too much beside its content: extensions or trailers."
                )
        if self._fault is not None:
            self.refuse(self._fault)

    def _look_at_partial_head(self) -> None:
        if self._budget < 0:
            self._fault = self._too_long()
        elif not self._partial and self._budget < HEAD_BYTES:
            self._partial = True
            if self.used:  # the first request has had a deadline since the connection was made
                self.due = self.listener.tick + self.limits.head_s + 1

    def _too_long(self) -> Problem:
        if len(self.url) > HEAD_BYTES // 2:
            return refusal(
                414, f"The head of a request may have at most {HEAD_BYTES} bytes, its address included."
            )
        return refusal(
            431, f"The head of a request may have at most {HEAD_BYTES} bytes and {HEAD_FIELDS} fields."
        )

    # --- called by the parser ------------------------------------------------------------------------------

    def on_headers_complete(self) -> None:
        """Find out whether there will be a body, and whether it may be so long."""
        self.state, self._partial, self._since = BODY, False, self.listener.tick
        fields, self.headers = self.headers, []  # trailers end up in that list, which nothing reads
        if self._budget < 0 or len(fields) > HEAD_FIELDS:
            self._fault = self._too_long()
            return
        self._budget = HEAD_BYTES
        self._left = self._limit = 0
        self._upgrading = self.parser.should_upgrade()
        if self._upgrading:
            return  # for the parser the request ends here
        declared = 0
        for name, value in fields:
            if name == b"content-length":
                if len(value) > LENGTH_DIGITS:  # the parser takes any number of leading zeros
                    self._fault = refusal(400, f"Content-Length has more than {LENGTH_DIGITS} digits.")
                    return
                declared = int(value)
            elif name == b"transfer-encoding":
                declared = -1
                if value.strip().lower() != b"chunked":
                    self._fault = refusal(501, "No transfer coding is known but chunked.")
        if declared and self._fault is None:
            self._expect_body(declared)

    def _expect_body(self, declared: int) -> None:
        """Prepare for a body of so many bytes; -1 stands for a body in chunks."""
        limits = self.limits
        limit = limits.api_body if self.url.startswith(API_PREFIXES) else limits.page_body
        if declared > limit:
            self._fault = refusals.too_large(limit)
            return
        reserved = limit if declared < 0 else declared
        if reserved > SMALL_BODY:
            if self.listener.large_bodies + reserved > LARGE_BODIES:
                self._fault = refusal(503, "Too many large bodies arrive at once.", retry_after="1")
                return
            self._reserved = reserved
            self.listener.large_bodies += reserved
        if declared < 0:
            self._limit, self._extra, self._chunks = limit, CHUNK_BYTES, CHUNKS
        else:
            self._left = declared
        if self.expect_100_continue and self.parser.get_http_version() == "1.1":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_chunk_header(self) -> None:
        """Count a chunk. The last one, without content, is one of them."""
        self._extra += CHUNK_HEAD
        self._chunks -= 1
        if self._chunks < -1:
            self._fault = self._fault or refusal(413, f"The body may have at most {CHUNKS} chunks.")

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self._body += body
        if self._left:
            self._left -= len(body)
            return
        self._extra += len(body)
        if len(self._body) > self._limit:
            self._fault = self._fault or refusals.too_large(self._limit)

    def on_message_complete(self) -> None:
        """Begin the request."""
        if self._fault is None and not self._upgrading:
            body, self._body = bytes(self._body), bytearray()
            self.begin(body)

    def release(self) -> None:
        """Give up the request's part of `LARGE_BODIES`."""
        if self._reserved:
            self.listener.large_bodies -= self._reserved
            self._reserved = 0

    def forget(self) -> None:
        """Drop what was parsed of the request."""
        self._body, self._fault = bytearray(), None
        self.release()

    # --- other protocols -----------------------------------------------------------------------------------

    def _upgrade(self) -> None:
        """Handle a head that asks for another protocol."""
        fields, self._upgrading = list(self.scope["headers"]), False
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if self._fault is not None:
            self.refuse(self._fault)
        elif method == b"CONNECT":
            self.refuse(refusal(501, "This is not a proxy: CONNECT is not served."))
        elif upgrades.is_handshake(method, version, fields):
            self.shake_hands(fields)
        else:
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.state, self._budget = WAITING, 2 * HEAD_BYTES  # its length was checked before
            self._feed(upgrades.plain_head(method, self.url, version, fields))
