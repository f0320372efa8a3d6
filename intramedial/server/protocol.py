"""The HTTP of the server: one request of a connection at a time, its answer in one write, and deadlines.

Theory of operation
===================

A request is given to the application when all of it is there, head and body. Until its answer is written
nothing more is parsed: what the client sends meanwhile waits, and no more than one read of it, since reading
pauses. So a connection costs a bounded amount of memory whatever its client does.

    waiting --head--> body --all of it--> owed (an answer) --written--> waiting
       |                |                                                  |
       +----------------+------> refused: answer, half-close, drop, abort  +--idle--> closed

`bounded_parser.py` parses within limits, `listener.py` counts connections and keeps the deadlines. All
limits are in `docs/listener.md`.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
from django.conf import settings

from intramedial.http import addresses, cross_origin
from intramedial.http.extensions import KNOWN, WHOLE
from intramedial.http.problems import Problem
from intramedial.server import refusals, upgrades
from intramedial.server.bounded_parser import API_PREFIXES, BODY, GONE, OWED, REFUSED, WAITING, Bounded
from intramedial.server.refusals import refusal
from intramedial.server.transports import HELD, Flow, InParts, OneWrite, Stuck, unread
from intramedial.server.whole_answers import InTurn, Whole, lines

__all__ = ["HELD", "OneWrite", "Protocol", "connection"]

LINGER_S, LINGER_BYTES, LINGER_EVERY_S = 2, 1024 * 1024, 0.05
"""After a refusal, bytes are dropped for so long, so many at most, and read so often."""

SHORT_TARGET = 256
_EXTENSIONS: dict[str, dict[str, Any]] = {WHOLE: {}}


def connection(*args: Any, **kwargs: Any) -> InParts:
    """uvicorn's factory of protocols: one that is read in small parts."""
    return InParts(Protocol(*args, **kwargs))


class Protocol(Bounded):
    """One connection while it speaks HTTP. `due`, `idle`, `used` and `known` are for the listener."""

    used = known = False
    _rest = b""  # what came while an answer was owed
    _dropped = 0  # bytes that came after a refusal
    _ending = False  # the server ends: what is arriving is the last request that is answered
    _no_more = False  # the client has ended its half of the connection

    @property
    def idle(self) -> bool:
        """Whether no request of it is being served."""
        return self.state in (WAITING, BODY)

    def unread(self) -> bool:
        """Whether bytes of its client have arrived that were not read yet."""
        return unread(self.transport)

    # --- from the transport --------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol. Refuse the connection when there are too many."""
        super().connection_made(OneWrite(transport, self.loop))
        self.flow = Flow(self.transport)
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
            except Exception as error:  # a fault of ours; the event loop would log each of them
                refusals.log_fault(error)
                self.transport.abort()

    def eof_received(self) -> bool:
        """See asyncio.Protocol. A client may half-close after its last request and still read the answer
        (RFC 9112, 9.6); a connection that is owed no answer is closed."""
        self._no_more = True
        return self.state == OWED

    def resume_writing(self) -> None:
        """See asyncio.Protocol. Go on with the next request, if it waited for the client to read."""
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
        else:  # no faster than that: who was refused gets little of the process
            self.flow.pause_reading()
            self.loop.call_later(LINGER_EVERY_S, self.flow.resume_reading)

    # --- requests ------------------------------------------------------------------------------------------

    def begin(self, body: bytes) -> None:
        """Start the application with a request that is all there. Raises HttpParserError for a bad target."""
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
            self.cycle = InTurn(turns, self, scope, body, keep_alive, done)
        self._start_asgi_task(self.cycle, self.app)

    def on_response_complete(self) -> None:
        """Go on with what was asked meanwhile, or wait for the next request."""
        self.server_state.total_requests += 1
        self.used = True
        if not self.known and KNOWN in self.cycle.scope:
            self.known = True
        self.release()
        # Else: closing, or the client does not read; `expire` looks whether it takes what was written.
        if not self.transport.is_closing() and not self.flow.write_paused:
            self._go_on()

    def _go_on(self) -> None:
        self.state = WAITING
        rest = self._rest
        if not rest:
            if self._no_more:
                self.transport.close()
            self.due = self.listener.tick + self.timeout_keep_alive + 1
            return
        self._rest, self.flow.full = b"", False
        self.due = self.listener.tick + self.limits.head_s + 1
        self.parse(rest)
        self.flow.resume_reading()

    def shake_hands(self, fields: list[tuple[bytes, bytes]]) -> None:
        """Leave the connection to the protocol of live sockets, if the handshake is one."""
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
        self._successor = self.ws_protocol_class(self.config, self.server_state, self.app_state)
        self._successor.address = address
        self.listener.take_over(self, self._successor)
        own = self.transport.own()
        reader = own.get_protocol()
        if isinstance(reader, InParts):
            reader.protocol = self._successor
        else:
            own.set_protocol(self._successor)
        self._successor.connection_made(own)
        self._successor.data_received(upgrades.handshake_head(self.url, fields))

    # --- ends ----------------------------------------------------------------------------------------------

    def refuse(self, problem: Problem) -> None:
        """Answer with the problem, half-close, and drop what still comes: a plain close would reset the
        connection, and the client could lose the answer."""
        if self.transport.is_closing():
            return
        # In any other state the header fields are not all there, or those of the request before.
        complete = self.state == BODY and not self._upgrading
        shared = cross_origin.of_refusal(self.url, self.scope["headers"]) if complete else ()
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
        """`due` has come; see `listener.py`."""
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
        """Close it at once, for another connection. A request that waits for its turn is refused."""
        if self.state == OWED:
            self.cycle.disconnected = True
            self.refuse(refusal(503, "There are too many connections. Try again soon.", retry_after="1"))
        elif self.state == REFUSED or self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """The server ends: close the connection, after the answer to what is asked or still arriving."""
        if self.state == REFUSED:
            self.transport.abort()
        elif self.state == BODY:
            self._ending = True
        else:
            super().shutdown()


def _parsed(url: bytes) -> tuple[str, bytes, bytes]:
    """Path, path as it was written, and query. Raises HttpParserError."""
    parsed = httptools.parse_url(url)
    path = parsed.path or b"/"
    return unquote(path.decode("ascii")), path, parsed.query or b""


_target = lru_cache(maxsize=64)(_parsed)
