"""A live socket from its handshake to its end.

It relays what the room publishes. The only message that it takes from a client is `{"type": "resync"}`.

A browser shows its page nothing of a handshake that was answered with an HTTP status. So a refused socket is
accepted first and then closed with a code: 4000 + the status of the problem (4401 `unauthenticated` or
`trial_expired`, 4403 `forbidden`, 4404 `not_found`, 4429 `rate_limited`), with the problem's reason as close
reason. Two handshakes never become a socket. One from a page of another site, or with a session and without
an Origin, is answered 403 here. One without any credential is answered 401 by the listener
(`intramedial/server/upgrades.py`).

Other codes: 4408 the client does not read, 1008 too many frames, 1009 a frame is too large, 1013 the
authority or its storage is unavailable, 1012 the server restarts.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from coordination.authority import process as authority
from intramedial.accounts.watching import Watcher
from intramedial.http.calls import RequestParts
from intramedial.http.problems import Problem
from intramedial.server.websocket import ADMITTED, SHARED, SharedText

from .hub import Hub, hub
from .socket import Socket

logger = logging.getLogger("intramedial.live")

PROTOCOL = "intramedial"

READ_WITHIN_S = 10.0
"""How long a message may wait until the client reads it."""
CLOSE_WITHIN_S = 1.0
"""How long sending the close frame may take."""
RESYNC_EVERY_S = 1.0
"""The shortest time between two snapshots that one client asks for."""
FRAMES_AT_ONCE, FRAMES_PER_S = 20, 5.0

SLOW = (4408, "too_slow")
FLOOD = (4429, "rate_limited")
TOO_LARGE = (1009, "too_large")
NOT_NOW = (1013, "authority_unavailable")
GONE = (1006, "gone")
FAILED = (1011, "failed")

AsgiMessage = dict[str, Any]
Ending = tuple[int, str]
"""A close code and its reason."""


def ending(problem: Problem) -> Ending:
    """The code and the reason with which a socket is closed for a problem."""
    return NOT_NOW if problem.status == 503 else (4000 + problem.status, problem.reason)


class LiveConsumer(AsyncWebsocketConsumer):
    """A live socket. Its subclasses decide who may open it. `application` makes it an ASGI application.

    Either side ends it: the client by `websocket.disconnect`, the server by `end`. The first call of `end`
    decides the close code.
    """

    # A socket has no channel of its own: the hub listens once for all sockets of the process.
    channel_layer_alias = "none"

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[Ending] = self._loop.create_future()
        self._hub: Hub | None = None
        self._socket: Socket | None = None
        self._watcher: Watcher | None = None
        self._writer: asyncio.Task[None] | None = None
        self._resync: asyncio.TimerHandle | None = None
        self._resync_due = 0.0  # loop time at which the requested snapshot is due
        self._resync_at = 0.0  # loop time from which the next snapshot may be sent
        self._frames = float(FRAMES_AT_ONCE)
        self._frame_at = 0.0
        self._ended: Ending | None = None

    def end(self, how: Ending) -> None:
        """Close the socket soon."""
        if not self._ending.done():
            self._ending.set_result(how)

    def end_for(self, problem: Problem) -> None:
        """Close the socket soon, because of a problem."""
        self.end(ending(problem))

    def messages(self, receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        """`receive` of a connection, which returns `live.end` once the server has ended the socket."""

        async def next_message() -> Any:
            if not self._ending.done():
                received = asyncio.ensure_future(receive())
                either: set[asyncio.Future[Any]] = {received, self._ending}
                try:
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                    if received.done():
                        return received.result()
                finally:
                    received.cancel()
            return {"type": "live.end"}

        return next_message

    # --- admission -------------------------------------------------------------------------------

    async def admit(self, parts: RequestParts) -> Watcher:
        """Who watches by this handshake. Raises Problem for one that may not."""
        raise NotImplementedError

    def check_origin(self, parts: RequestParts) -> None:
        """Raises Problem for a handshake that a page of another site may have sent."""
        raise NotImplementedError

    async def connect(self) -> None:
        """Admit or refuse the client."""
        parts = RequestParts.from_scope(self.scope)
        try:
            self.check_origin(parts)
        except Problem as problem:
            self._log("live socket refused", ending(problem))
            await self.close()
            raise StopConsumer from None
        await self.accept(PROTOCOL if PROTOCOL in self.scope["subprotocols"] else None)
        try:
            self._watcher = await self.admit(parts)
            await self._join(self._watcher)
        except Problem as problem:
            self.end_for(problem)

    async def _join(self, watcher: Watcher) -> None:
        try:
            await asyncio.to_thread(authority.get)
        except authority.StorageFault as fault:
            raise Problem("authority_unavailable", "Live boards cannot be served now.") from fault
        self._hub = hub()
        await self._hub.ready.wait()
        limit = settings.TRIAL_SOCKETS if watcher.trial else settings.WORKSPACE_SOCKETS
        self._socket = self._hub.join(watcher, limit, self.end_for)
        if self._socket is None:
            raise Problem("rate_limited", f"A workspace has at most {limit} live sockets.")
        if self._listener_has(ADMITTED):
            await self._send_to_listener({"type": ADMITTED})
        self._resync_at = self._loop.time() + RESYNC_EVERY_S
        self._writer = self._loop.create_task(self._write(self._socket), name="live-writer")
        self._log("live socket opened")

    # --- from the room ---------------------------------------------------------------------------

    async def _write(self, socket: Socket) -> None:
        """Send the room's messages until the socket ends."""
        try:
            while True:
                await self._send_shared(*await socket.next())
        except TimeoutError:
            self.end(SLOW)
        except OSError:
            # The server's `websocket.disconnect` follows, with the code that it knows.
            self.end(GONE)
        except Exception:
            logger.exception("a live socket failed")
            self.end(FAILED)

    async def _send_shared(self, beginning: str, shared: SharedText) -> None:
        if self._listener_has(SHARED):
            message = {"beginning": beginning, "shared": shared, "within": READ_WITHIN_S}
            await self._send_to_listener({"type": "websocket.send", **message})
        else:
            async with asyncio.timeout(READ_WITHIN_S):
                await self.send(text_data=shared.after(beginning))

    def _listener_has(self, extension: str) -> bool:
        return extension in (self.scope.get("extensions") or {})

    async def _send_to_listener(self, message: AsgiMessage) -> None:
        """Send a message of one of our own extensions of ASGI."""
        send: Any = self.base_send  # typed for the messages of ASGI itself
        await send(message)

    # --- from the client -------------------------------------------------------------------------

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Answer `{"type": "resync"}` with a snapshot and ignore any other frame; end a socket that sends too
        much."""
        data = text_data.encode("utf-8", "surrogatepass") if text_data is not None else bytes_data or b""
        if len(data) > settings.SOCKET_FRAME:
            self.end(TOO_LARGE)
        elif not self._frame_is_due():
            self.end(FLOOD)
        elif text_data is not None and self._socket is not None and _asks_for_resync(data):
            self._request(self._socket)

    def _frame_is_due(self) -> bool:
        now = self._loop.time()
        self._frames = min(FRAMES_AT_ONCE, self._frames + (now - self._frame_at) * FRAMES_PER_S)
        self._frame_at = now
        self._frames -= 1
        return self._frames >= 0

    def _request(self, socket: Socket) -> None:
        """Ask the room for a snapshot, now or as soon as another may be sent. A second request meanwhile adds
        nothing."""
        # The time is kept here, because uvloop's handle of a call that is already due does not have it.
        if self._resync_due > self._loop.time():
            return
        at = max(self._loop.time(), self._resync_at)
        self._resync_due, self._resync_at = at, at + RESYNC_EVERY_S
        self._resync = self._loop.call_at(at, socket.request)

    # --- end -------------------------------------------------------------------------------------

    async def live_end(self, message: AsgiMessage) -> None:
        """The server ends the socket."""
        self._ended = code, reason = self._ending.result()
        if self._writer is not None:
            self._writer.cancel()
        # A client that does not read cannot read the close frame either.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self.close(code, reason)
        raise StopConsumer

    async def disconnect(self, code: int | None) -> None:
        """The client has ended the socket."""
        self._ended = (code or 1005, "left")

    async def leave(self) -> None:
        """Release what the socket holds; called once, however it ended."""
        if self._resync is not None:
            self._resync.cancel()
        if self._writer is not None:
            self._writer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._writer
        if self._hub is not None and self._socket is not None:
            self._hub.leave(self._socket)
            self._log("live socket closed", self._ended, messages=self._socket.seq)
        elif self._ended is not None:
            self._log("live socket refused", self._ended)

    def _log(self, what: str, how: Ending | None = None, **more: Any) -> None:
        extra: dict[str, Any] = {"path": self.scope["path"][:200], **more}
        if self._watcher is not None:
            extra |= {"workspace": self._watcher.workspace, "watcher": type(self._watcher).__name__.lower()}
            extra["sockets"] = self._hub.count(self._watcher.workspace) if self._hub is not None else 0
        if how is not None:
            extra |= {"code": how[0], "reason": how[1]}
        logger.info(what, extra=extra)


def application(kind: type[LiveConsumer]) -> Callable[..., Any]:
    """The ASGI application that serves each connection with a consumer of this kind."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        consumer = kind()
        try:
            await consumer(scope, consumer.messages(receive), send)
        finally:
            await consumer.leave()

    return serve


def _asks_for_resync(data: bytes) -> bool:
    try:
        frame = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(frame, Mapping) and frame.get("type") == "resync"
