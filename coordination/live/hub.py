"""The hub of a process: it listens to the channel layer, has the rooms, and checks who may still watch.

It receives the messages of all publishers, those of its own process included (`authority/publisher.py`). It
notices losses: a skipped number, a publisher that fell silent, or its own messages not coming back. Then its
rooms send a snapshot.

Every `RECHECK_S` it checks all sockets at once. A socket that may not watch any more is closed. When the
check has no answer in time, all sockets are closed: no socket watches longer than `CONFIRM_S` without the
right to.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from channels.layers import BaseChannelLayer, InMemoryChannelLayer, get_channel_layer
from django.conf import settings

from coordination.authority import process
from coordination.authority.publisher import BEAT_S, GROUP, SEND_S, Publisher, end_task
from coordination.read import current
from intramedial.accounts import watching
from intramedial.accounts.watching import Watcher
from intramedial.http.problems import Problem

from .room import Pace, Read, Room
from .socket import Socket

logger = logging.getLogger(__name__)

DEAF_S = 2.5 * BEAT_S
GONE_S = 5 * BEAT_S
RETRY_S = 0.5
RECHECK_S = 2.0
CONFIRM_S = 4.5

Check = Callable[[Iterable[Watcher]], Awaitable[dict[Watcher, Problem]]]


@dataclass(slots=True)
class Known:
    """What is known of a process, this one or another: its last number, when its last message came, its
    sockets by workspace."""

    number: int
    heard_at: float
    sockets: dict[str, int] = field(default_factory=dict)


class Hub:
    """The hub of one process and event loop."""

    def __init__(
        self,
        voice: Publisher,
        layer: BaseChannelLayer,
        snapshot: Read = current.snapshot,
        deadlocks: Read = current.deadlock_list,
        check: Check = watching.check,
        pace: Pace | None = None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.pace = pace or Pace()
        self.snapshot = snapshot
        self.deadlocks = deadlocks
        self.rooms: dict[str, Room] = {}
        self.deaf = False
        self.ready = asyncio.Event()
        """Set once it listens, or knows that it cannot. No room may read a snapshot before."""
        self._check = check
        self._voice = voice
        self._layer = layer
        self._channel = ""
        self._publishers = {voice.publisher: Known(voice.number, self.loop.time())}
        self._watchers: dict[Socket, tuple[Watcher, Callable[[Problem], None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to listen, and let this process publish."""
        alone = isinstance(self._layer, InMemoryChannelLayer)
        self._tasks = [
            self.loop.create_task(self._listen(), name="live-listen"),
            self.loop.create_task(self._watch(), name="live-watch"),
            self.loop.create_task(self._recheck(), name="live-recheck"),
        ]
        self._voice.attach(self._layer, self.rooms if alone else None, self._counts)

    async def stop(self) -> None:
        """Publish what waits, end the tasks and leave the group."""
        await self._voice.detach()
        for task in [*self._tasks, *(room.close() for room in self.rooms.values())]:
            await end_task(task)
        with contextlib.suppress(Exception):
            async with asyncio.timeout(SEND_S):
                await self._layer.group_discard(GROUP, self._channel)

    # --- sockets ---------------------------------------------------------------------------------

    def join(self, watcher: Watcher, limit: int, end: Callable[[Problem], None]) -> Socket | None:
        """A new socket, which will get a snapshot; None when the workspace has `limit` sockets already, those
        of other processes included as last published. `end` is called when the watcher may not watch any
        more."""
        workspace = watcher.workspace
        elsewhere = sum(publisher.sockets.get(workspace, 0) for publisher in self._publishers.values())
        if elsewhere + self.count(workspace) >= limit:
            return None
        if (room := self.rooms.get(workspace)) is None:
            room = self.rooms[workspace] = Room(workspace, self)
        socket = Socket(room.request)
        self._watchers[socket] = watcher, end
        room.request(socket)
        self._voice.recount(workspace)
        return socket

    def leave(self, socket: Socket) -> None:
        """Remove a socket; the last one of a room closes the room."""
        watcher, _ = self._watchers.pop(socket)
        room = self.rooms[watcher.workspace]
        room.leave(socket)
        self._voice.recount(watcher.workspace)
        if not len(room):
            del self.rooms[watcher.workspace]
            room.close()

    def count(self, workspace: str) -> int:
        """How many sockets the workspace has in this process."""
        room = self.rooms.get(workspace)
        return len(room) if room is not None else 0

    def several(self) -> bool:
        """Whether other processes publish too."""
        return len(self._publishers) > 1

    def _counts(self) -> dict[str, int]:
        return {workspace: len(room) for workspace, room in self.rooms.items()}

    async def _recheck(self) -> None:
        confirmed_at = self.loop.time()
        pause = RECHECK_S
        while True:
            await asyncio.sleep(pause)
            begun, pause = self.loop.time(), RECHECK_S
            watched = dict(self._watchers)
            try:
                async with asyncio.timeout_at(confirmed_at + CONFIRM_S):
                    ended = await self._check({watcher for watcher, _ in watched.values()})
            except Exception as error:
                pause = RETRY_S
                if self.loop.time() + pause < confirmed_at + CONFIRM_S:
                    continue
                logger.warning("live watchers cannot be checked: %s: %s", type(error).__name__, error)
                unknown = Problem("authority_unavailable", "Whether you may watch is not known now.")
                ended = {watcher: unknown for watcher, _ in watched.values()}
            confirmed_at = begun
            for watcher, let_go in watched.values():
                if (problem := ended.get(watcher)) is not None:
                    let_go(problem)

    # --- listening -------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            try:
                await self.ready.wait()
                message = await self._layer.receive(self._channel)
            except Exception as error:
                self._lose_hearing(error)
                await asyncio.sleep(RETRY_S)
                continue
            try:
                self._hear(message)
            except Exception:
                logger.exception("a message of the channel layer is not understood")
                self._doubt()

    def _hear(self, message: dict[str, Any]) -> None:
        name, number = message["publisher"], message["number"]
        known = self._publishers.get(name)
        if known is None:
            # Whether earlier messages of it were lost is not known.
            self._publishers[name] = known = Known(number, self.loop.time())
            self._doubt()
        known.heard_at = self.loop.time()
        if name == self._voice.publisher:
            self._regain_hearing()
        step = 1 if message["type"] == "live.events" else 0
        if number > known.number + step:
            self._doubt()
        if name != self._voice.publisher:
            if message["type"] == "live.beat":
                known.sockets = message["sockets"]
            elif message["type"] == "live.sockets":
                known.sockets |= message["sockets"]
        if number > known.number or not step:
            known.number = max(number, known.number)
            self._deliver(name, message.get("batches", {}))

    def _deliver(self, publisher: str, batches: dict[str, bytes | None]) -> None:
        for workspace, packed in batches.items():
            if (room := self.rooms.get(workspace)) is not None:
                room.receive(publisher, None if packed is None else orjson.loads(packed))

    async def _watch(self) -> None:
        """Stay in the group (membership lapses, and Redis may have lost it), and notice silent publishers."""
        while True:
            try:
                async with asyncio.timeout(SEND_S):
                    self._channel = self._channel or await self._layer.new_channel()
                    await self._layer.group_add(GROUP, self._channel)
            except Exception as error:
                self._lose_hearing(error)
            self.ready.set()
            await asyncio.sleep(BEAT_S)
            self._notice_silences()

    def _notice_silences(self) -> None:
        now, own = self.loop.time(), self._voice.publisher
        if now - self._publishers[own].heard_at > DEAF_S:
            self._lose_hearing(TimeoutError("its own beats do not arrive"))
        gone = [name for name, known in self._publishers.items() if now - known.heard_at > GONE_S]
        for name in gone:
            if name != own and not self.deaf:
                # It may have died after a commit and before publishing it.
                del self._publishers[name]
                self._doubt()

    def _lose_hearing(self, error: Exception) -> None:
        if not self.deaf:
            logger.warning("live boards are delayed: %s: %s", type(error).__name__, error)
            self.deaf = True
            self._doubt()

    def _regain_hearing(self) -> None:
        if self.deaf:
            logger.warning("live boards are live again")
            self.deaf = False
            self._doubt()

    def _doubt(self) -> None:
        for room in self.rooms.values():
            room.doubt()


def hub() -> Hub:
    """The hub of this process, started when it is not running."""
    held = process.current()
    if isinstance(held.hub, Hub) and held.hub.loop is asyncio.get_running_loop():
        return held.hub
    layer = get_channel_layer()
    assert layer is not None, "CHANNEL_LAYERS has no default"
    held.hub = started = Hub(held.publisher, layer, pace=Pace(remembered_s=settings.WAIT_TTL_MS / 1000 + 1))
    started.start()
    return started


async def stop() -> None:
    """Stop the hub, at the end of the process."""
    await process.current().close_hub()
