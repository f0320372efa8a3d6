"""Requests parsed within limits, whatever a client sends and however it is divided.

The parser cannot be stopped within what it is fed. So it is never fed more than one request: at most up to
the next empty line, with which each head and each chunked body ends, or as many bytes as the body was
declared to have.
"""

from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from intramedial.http.problems import Problem
from intramedial.server import refusals, upgrades
from intramedial.server.listener import listener_of
from intramedial.server.refusals import refusal

END = b"\r\n\r\n"
HEAD_BYTES, HEAD_FIELDS = 32_768, 100
CHUNK_BYTES, CHUNK_HEAD = 16_384, 16
"""Bytes of a chunked body that are not content: at most so many, besides so many for each chunk."""
CHUNKS = 16_384
"""Chunks of a body. Each costs as much as hundreds of bytes. A body of the API may come byte by byte."""

LENGTH_DIGITS = 20

API_PREFIXES = (b"/api/", b"/mcp", b"/health/", b"/.well-known/", b"/openapi.json")
SMALL_BODY = 16_384
LARGE_BODIES = 32 * 1024 * 1024
"""Bytes of bodies larger than `SMALL_BODY` that may wait at once, of all connections, to be whole."""

BODY_GRACE_S, BODY_BYTES_PER_S = 10, 500
"""A body has so long at least; after that it must have come at this rate."""

FORESEEN = (httptools.HttpParserError, UnicodeError)
"""What the callbacks of the parser raise for the bad target of a request."""

WAITING, BODY, OWED, REFUSED, GONE = range(5)
"""What a connection does: it waits for the rest of a head, or for any; for the rest of a body; an answer is
owed; a request was refused and what comes is dropped; it is closed, or speaks another protocol."""


class Bounded(HttpToolsProtocol):
    """A connection's requests. A subclass says what becomes of one: `begin`, `refuse`, `shake_hands`, and of
    bytes behind one: `set_aside`."""

    used = False  # a request of it has been answered
    state = WAITING
    url = b""  # the target of the request, as far as it is there
    _fault: Problem | None = None  # why the request that is being parsed is refused
    _upgrading = False  # its head asks for another protocol
    _partial = False  # a part of its head is there
    _budget = HEAD_BYTES  # what is left for its head
    _left = 0  # bytes of its body that are still to come, when its length was declared
    _limit = 0  # bytes that its body may have, when it comes in chunks
    _extra = 0  # bytes left for chunks besides their content
    _chunks = 0  # chunks it may still have
    _since = 0  # the sweep at which its head was complete
    _reserved = 0  # bytes of `LARGE_BODIES` that it has
    _tail = b""  # the last bytes parsed, when no empty line ends there

    def __init__(self, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.listener = listener_of(server_state, self.loop)
        self.limits = self.listener.limits
        self.due = 0
        self._body = bytearray()

    def begin(self, body: bytes) -> None:
        """A request is all there."""
        raise NotImplementedError

    def refuse(self, problem: Problem) -> None:
        """A request is over a limit, or is none."""
        raise NotImplementedError

    def shake_hands(self, fields: upgrades.Fields) -> None:
        """A request asks for a live socket."""
        raise NotImplementedError

    def set_aside(self, data: bytes) -> None:
        """`data` came behind the end of a request."""
        raise NotImplementedError

    def parse(self, data: bytes) -> None:
        """Parse up to the end of one request, and keep the rest."""
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
        """How much of `data` may be parsed without passing the end of a request."""
        tail, end = self._tail, 0
        if tail and (at := (tail + data[:3]).find(END)) >= 0:  # it began in what was parsed before
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
            if self.used:  # else it has been due since it was connected
                self.due = self.listener.tick + self.limits.head_s + 1

    def _too_long(self) -> Problem:
        if len(self.url) > HEAD_BYTES // 2:
            return refusal(
                414, f"The head of a request may have at most {HEAD_BYTES} bytes, its address included."
            )
        return refusal(
            431, f"The head of a request may have at most {HEAD_BYTES} bytes and {HEAD_FIELDS} fields."
        )

    # --- from the parser -----------------------------------------------------------------------------------

    def on_headers_complete(self) -> None:
        """Decide whether there will be a body, and whether it may be as long as it is."""
        self.state, self._partial, self._since = BODY, False, self.listener.tick
        fields, self.headers = self.headers, []  # trailers end up in that list, and nowhere else
        if self._budget < 0 or len(fields) > HEAD_FIELDS:
            self._fault = self._too_long()
            return
        self._budget = HEAD_BYTES
        self._left = self._limit = 0
        self._upgrading = self.parser.should_upgrade()
        if self._upgrading:
            return  # the parser takes the request to end here
        declared = 0
        for name, value in fields:
            if name == b"content-length":
                if len(value) > LENGTH_DIGITS:  # the parser lets any number of zeros lead
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
        """A body of that many bytes will come; with -1, in chunks."""
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
        """A chunk begins, which may be the one without content that ends the body."""
        self._extra += CHUNK_HEAD
        self._chunks -= 1
        if self._chunks < -1:
            self._fault = self._fault or refusal(413, f"The body may have at most {CHUNKS} chunks.")

    def on_body(self, body: bytes) -> None:
        """Note a part of the body."""
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
        """The body of the request is not kept any more."""
        if self._reserved:
            self.listener.large_bodies -= self._reserved
            self._reserved = 0

    def forget(self) -> None:
        """Let go of what was parsed."""
        self._body, self._fault = bytearray(), None
        self.release()

    # --- other protocols -----------------------------------------------------------------------------------

    def _upgrade(self) -> None:
        """Its head asks for another protocol."""
        fields, self._upgrading = self.scope["headers"], False
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
            self.state, self._budget = WAITING, 2 * HEAD_BYTES  # it was not too long before
            self._feed(upgrades.plain_head(method, self.url, version, fields))
