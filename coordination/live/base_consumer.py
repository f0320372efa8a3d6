"""A live socket from its handshake to its end.

It passes on what the room publishes; of what a client sends it knows only `{"type": "resync"}`.

A refused socket is accepted and closed with a code, since a browser shows its page no other answer: 4000 +
the status of the problem (4401 `unauthenticated` or `trial_expired`, 4403 `forbidden`, 4404 `not_found`, 4429
`rate_limited`), with its reason as the close reason. Two handshakes never become a socket: one from a page of
another site, or with a session and no Origin, is answered 403 here; one that carries nothing that could let
it in is answered 401 by the listener (`intramedial/server/upgrades.py`).

Other codes: 4408 the client does not read, 1008 too many frames, 1009 a frame is too large, 1013 not now,
1012 the server restarts.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.utils import await_many_dispatch
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
CLOSE_WITHIN_S = 1.0
RESYNC_EVERY_S = 1.0
FRAMES_AT_ONCE, FRAMES_PER_S = 20, 5.0

SLOW = (4408, "too_slow")
FLOOD = (4429, "rate_limited")
TOO_LARGE = (1009, "too_large")
NOT_NOW = (1013, "authority_unavailable")
GONE = (1006, "gone")
FAILED = (1011, "failed")

Message = dict[str, Any]
Ending = tuple[int, str]


def ending(problem: Problem) -> Ending:
    """The code and the reason with which a socket is closed for a problem."""
    return NOT_NOW if problem.status == 503 else (4000 + problem.status, problem.reason)


class LiveConsumer(AsyncWebsocketConsumer):
    """A socket from its handshake to its end. Who it is for is a subclass's affair."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._endings: asyncio.Queue[Message] = asyncio.Queue()
        self._hub: Hub | None = None
        self._socket: Socket | None = None
        self._watcher: Watcher | None = None
        self._writer: asyncio.Task[None] | None = None
        self._resync: asyncio.TimerHandle | None = None
        self._resync_due = 0.0  # the loop's time of it
        self._resync_at = 0.0  # the loop's time from which on another snapshot is given
        self._frames = float(FRAMES_AT_ONCE)
        self._frame_at = 0.0
        self._ended: Ending | None = None

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Serve one connection.

        No channel of the layer is the socket's own: the process listens once for all (`hub.py`).
        """
        self.scope, self.base_send = scope, send
        self._loop = asyncio.get_running_loop()
        try:
            await await_many_dispatch([receive, self._endings.get], self.dispatch)
        except StopConsumer:
            pass
        finally:
            await self._leave()

    async def dispatch(self, message: Message) -> None:
        """Handle one message. Channels' own dispatch hops to a thread first, which a flood could exhaust."""
        handlers = {
            "websocket.connect": self.websocket_connect,
            "websocket.receive": self.websocket_receive,
            "websocket.disconnect": self.websocket_disconnect,
            "live.end": self.live_end,
        }
        await handlers[message["type"]](message)

    def end(self, how: Ending) -> None:
        """Close the socket soon."""
        self._endings.put_nowait({"type": "live.end", "how": how})

    # --- in --------------------------------------------------------------------------------------

    async def admit(self, parts: RequestParts) -> Watcher:
        """Who is let in. Raises Problem."""
        raise NotImplementedError

    def check_origin(self, parts: RequestParts) -> None:
        """Raises Problem for a handshake that a page of another site may have sent."""
        raise NotImplementedError

    async def websocket_connect(self, message: Message) -> None:
        """Let in or refuse."""
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
            self.end(ending(problem))

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
        if ADMITTED in self.scope.get("extensions", {}):
            await self.base_send({"type": ADMITTED})
        self._resync_at = self._loop.time() + RESYNC_EVERY_S
        self._writer = self._loop.create_task(self._write(self._socket), name="live-writer")
        self._log("live socket opened")

    def end_for(self, problem: Problem) -> None:
        """Close the socket soon, because of this."""
        self.end(ending(problem))

    # --- from the room ---------------------------------------------------------------------------

    async def _write(self, socket: Socket) -> None:
        """Pass on what the room says, until the client goes or does not read."""
        try:
            while True:
                await self._send_shared(*await socket.next())
        except TimeoutError:
            self.end(SLOW)
        except OSError:
            self.end(GONE)  # the server knows better how, and tells us
        except Exception:
            logger.exception("a live socket failed")
            self.end(FAILED)

    async def _send_shared(self, beginning: str, shared: SharedText) -> None:
        if SHARED in self.scope.get("extensions", {}):
            message = {"beginning": beginning, "shared": shared, "within": READ_WITHIN_S}
            await self.base_send({"type": "websocket.send", **message})
        else:
            async with asyncio.timeout(READ_WITHIN_S):
                await self.send(text_data=shared.after(beginning))

    # --- from the client -------------------------------------------------------------------------

    async def websocket_receive(self, message: Message) -> None:
        """Hear `{"type": "resync"}`; overhear all else, for as long as it is not too much."""
        frame = message.get("text")
        data = frame.encode("utf-8", "surrogatepass") if frame is not None else message.get("bytes") or b""
        if len(data) > settings.SOCKET_FRAME:
            self.end(TOO_LARGE)
        elif not self._frame_is_due():
            self.end(FLOOD)
        elif frame is not None and self._socket is not None and _asks_for_resync(data):
            self._request(self._socket)

    def _frame_is_due(self) -> bool:
        now = self._loop.time()
        self._frames = min(FRAMES_AT_ONCE, self._frames + (now - self._frame_at) * FRAMES_PER_S)
        self._frame_at = now
        self._frames -= 1
        return self._frames >= 0

    def _request(self, socket: Socket) -> None:
        """Ask for a snapshot, now or as soon as it is time for another. Asking twice is asking once."""
        # Kept here: what uvloop gives for a call that is due already does not know when it is.
        if self._resync_due > self._loop.time():
            return
        at = max(self._loop.time(), self._resync_at)
        self._resync_due, self._resync_at = at, at + RESYNC_EVERY_S
        self._resync = self._loop.call_at(at, socket.request)

    # --- out -------------------------------------------------------------------------------------

    async def live_end(self, message: Message) -> None:
        """Close from our side."""
        self._ended = message["how"]
        code, reason = self._ended
        if self._writer is not None:
            self._writer.cancel()
        # A client that does not read does not get to read the code either.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self.close(code, reason)
        raise StopConsumer

    async def websocket_disconnect(self, message: Message) -> None:
        """The client has gone."""
        self._ended = (message.get("code") or 1005, "left")
        raise StopConsumer

    async def _leave(self) -> None:
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


def _asks_for_resync(data: bytes) -> bool:
    try:
        said = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(said, Mapping) and said.get("type") == "resync"
