"""The server's side of HTTP: one request of a connection at a time, and a deadline for each state.

Theory of operation
===================

The application gets a request when it has arrived completely, head and body. Until its answer is written,
nothing more is parsed: what the client sends meanwhile waits, at most one read of it, since reading pauses.
So a connection costs a bounded amount of memory, whatever its client does.

    waiting --head--> body --complete--> owed (an answer) --written--> waiting
       |                |                                                  |
       +----------------+------> refused: answer, half-close, drop, abort  +--idle--> closed

`bounded_parser.py` parses within limits, `listener.py` counts connections and checks the deadlines,
`whole_answers.py` writes the answers. `docs/listener.md` lists all limits.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
from django.conf import settings

from intramedial.http import addresses, origins
from intramedial.http.problems import Problem
from intramedial.http.serving import KNOWN, WHOLE
from intramedial.server import refusals, upgrades
from intramedial.server.bounded_parser import API_PREFIXES, BODY, GONE, OWED, REFUSED, WAITING, Bounded
from intramedial.server.refusals import refusal
from intramedial.server.transports import Flow, InParts, Stuck, unread
from intramedial.server.websocket import SocketProtocol
from intramedial.server.whole_answers import InTurn, Whole, lines

LINGER_S, LINGER_BYTES, LINGER_EVERY_S = 2, 1024 * 1024, 0.05
"""After a refusal bytes are dropped: for so many seconds, at most so many, and one read in so many
seconds."""

SHORT_TARGET = 256
_EXTENSIONS: dict[str, dict[object, object]] = {WHOLE: {}}


def connection(*args: Any, **kwargs: Any) -> InParts:
    """What uvicorn calls to make a connection's protocol: one that reads in small parts."""
    return InParts(Protocol(*args, **kwargs))


class Protocol(Bounded):
    """One connection while it speaks HTTP. It is a `listener.Member`."""

    used = known = False
    flow: Flow
    _rest = b""  # what came while an answer was owed
    _dropped = 0  # bytes that came after a refusal
    _ending = False  # the server ends: the request that is arriving is the last one
    _client_ended = False  # the client has ended its half of the connection

    @property
    def idle(self) -> bool:
        """Whether none of its requests is being served."""
        return self.state in (WAITING, BODY)

    def unread(self) -> bool:
        """Whether its client has sent bytes that were not read yet."""
        return unread(self.transport)

    # --- called by the transport ---------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol. Refuse the connection when there are too many."""
        super().connection_made(transport)
        self.flow = Flow(transport)
        self._stuck = Stuck(self.limits.look_s, self.limits.unread_s)
        self.due = self.listener.tick + self.limits.head_s + 1
        peer = self.client[0] if self.client else ""
        socket = transport.get_extra_info("socket")
        if not self.listener.admit(self, peer, socket.fileno() if socket is not None else 0):
            self.refuse(refusal(503, "There are too many connections. Try again soon.", retry_after="1"))

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self.state == OWED:
            self._keep(data)
        elif self.state == REFUSED:
            self._drop(data)
        elif self.state != GONE:
            try:
                self.parse(data)
            except Exception as error:  # our fault; the event loop would log each of them
                refusals.log_fault(error)
                self.transport.abort()

    def eof_received(self) -> Any:  # a bool, as in asyncio; uvicorn declares None
        """See asyncio.Protocol. A client may half-close after its last request and still read the answer
        (RFC 9112, 9.6). A connection without an answer under way is closed."""
        self._client_ended = True
        return self.state == OWED

    def resume_writing(self) -> None:
        """See asyncio.Protocol. Go on with the next request if it waited for the client to read."""
        super().resume_writing()
        self._stuck.moves()
        if self.state == OWED and self.cycle.response_complete and not self.transport.is_closing():
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.listener.leave(self)
        self.release()
        self.state, self._rest = GONE, b""
        super().connection_lost(exc)

    def set_aside(self, data: bytes) -> None:
        """Keep, drop or hand over what came behind the end of a request."""
        if self.state == OWED:
            self._keep(data)
        elif self.state == REFUSED:
            self._drop(data)
        else:
            self._successor.data_received(data)

    def _keep(self, data: bytes) -> None:
        self._rest += data
        self.flow.full = True
        self.flow.pause_reading()

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.transport.abort()
        else:  # slowly: a refused client gets little of the process
            self.flow.pause_reading()
            self.loop.call_later(LINGER_EVERY_S, self.flow.resume_reading)

    # --- requests ------------------------------------------------------------------------------------------

    def begin(self, body: bytes) -> None:
        """Start the application with a complete request. Raises HttpParserError for a malformed target."""
        scope, url, parser = self.scope, self.url, self.parser
        version = parser.get_http_version()
        if version != "1.1":
            scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        scope["extensions"] = _EXTENSIONS
        scope["path"], scope["raw_path"], scope["query_string"] = (
            _target(url) if len(url) <= SHORT_TARGET else _parsed(url)
        )
        keep_alive = version == "1.1" and parser.should_keep_alive() and not self._ending
        self.state = OWED
        self.due = self.listener.tick + self.limits.look_s
        if not self.used:
            self.listener.begun(self)
        if url.startswith(API_PREFIXES):
            self.cycle = Whole(self, scope, body, keep_alive, self.on_response_complete)
        else:
            turns, done = self.listener.page_turns, self.on_response_complete
            self.cycle = InTurn(turns, self, self, scope, body, keep_alive, done)
        self._start_asgi_task(self.cycle, self.app)

    def on_response_complete(self) -> None:
        """Go on with what arrived meanwhile, or wait for the next request."""
        self.server_state.total_requests += 1
        self.used = True
        if not self.known and KNOWN in self.cycle.scope:
            self.known = True
        self.release()
        # Otherwise it is closing, or the client does not read: `expire` checks whether it takes its answer.
        if not self.transport.is_closing() and not self.flow.write_paused:
            self._go_on()

    def _go_on(self) -> None:
        self.state = WAITING
        rest = self._rest
        if not rest:
            if self._client_ended:
                self.transport.close()
            self.due = self.listener.tick + self.timeout_keep_alive + 1
            return
        self._rest, self.flow.full = b"", False
        self.due = self.listener.tick + self.limits.head_s + 1
        self.parse(rest)
        self.flow.resume_reading()

    def shake_hands(self, fields: list[tuple[bytes, bytes]]) -> None:
        """Hand the connection over to the protocol of live sockets, unless the handshake is refused."""
        forwarded = b",".join(value for name, value in fields if name == b"x-forwarded-for").decode("latin-1")
        trusted = settings.TRUSTED_PROXIES
        address = addresses.client_address(self.client[0] if self.client else "", forwarded, trusted)
        if not self.listener.may_shake_hands(address):
            self.refuse(refusal(429, "Too many live sockets of this address were refused.", retry_after="10"))
            return
        if (fault := upgrades.handshake_fault(self.url, fields)) is not None:
            self.listener.handshake_failed(address)
            self.refuse(fault)
            return
        self.state = GONE
        self.connections.discard(self)
        self._successor = SocketProtocol(self.config, self.server_state, self.app_state)
        self._successor.address = address
        self.listener.take_over(self, self._successor)
        reader = self.transport.get_protocol()
        if isinstance(reader, InParts):
            reader.protocol = self._successor
        else:
            self.transport.set_protocol(self._successor)
        self._successor.connection_made(self.transport)
        self._successor.data_received(upgrades.handshake_head(self.url, fields))

    # --- ends ----------------------------------------------------------------------------------------------

    def refuse(self, problem: Problem) -> None:
        """Answer with the problem, half-close, and drop what still arrives. Closing at once would reset the
        connection, and the client could lose the answer."""
        if self.transport.is_closing():
            return
        # In any other state the header fields are incomplete, or those of the request before.
        complete = self.state == BODY and not self._upgrading
        shared = origins.of_refusal(self.url, self.scope["headers"]) if complete else ()
        self.state, self._rest = REFUSED, b""
        self.forget()
        self.due = self.listener.tick + LINGER_S + 1
        identifier = refusals.new_identifier()
        own = lines((*self.server_state.default_headers, *shared))
        self.transport.write(refusals.written(problem, identifier, own))
        self.transport.write_eof()
        self.flow.full = False
        self.flow.resume_reading()
        if isinstance(reader := self.transport.get_protocol(), InParts):
            reader.drop()
        refusals.log_refusal(problem, identifier)
        self.listener.linger(self)

    def expire(self) -> None:
        """Handle that `due` has come; see `listener.py`."""
        if self.state == REFUSED:
            self.transport.abort()
        elif self.state == OWED or self.transport.get_write_buffer_size():
            if self._stuck.for_too_long(self.transport):
                self.transport.abort()
            self.due = self.listener.tick + self.limits.look_s
        elif self.state == BODY or self._partial:
            self.refuse(refusal(408, "The request did not arrive in time."))
        else:
            self.transport.close()

    def evict(self) -> None:
        """Close it at once to make room for another. A request that waits for its turn is refused."""
        if self.state == OWED:
            self.cycle.disconnected = True
            self.refuse(refusal(503, "There are too many connections. Try again soon.", retry_after="1"))
        elif self.state == REFUSED or self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection because the server ends, but answer the request under way or arriving
        first."""
        if self.state == REFUSED:
            self.transport.abort()
        elif self.state == BODY:
            self._ending = True
        else:
            super().shutdown()


def _parsed(url: bytes) -> tuple[str, bytes, bytes]:
    """The path decoded, the path as it was sent, and the query. Raises HttpParserError."""
    parsed = httptools.parse_url(url)
    path = parsed.path or b"/"
    return unquote(path.decode("ascii")), path, parsed.query or b""


_target = lru_cache(maxsize=64)(_parsed)
