"""Where live sockets stand: one room a workspace and process, which sends all its sockets the same messages.

Theory of operation
===================

The hub (`hub.py`) listens to the channel layer for the whole process and hands each room the events of its
workspace. A room has one task that takes turns: it sends what has arrived, at once and then every
`interval_s`, and reads a snapshot for those who need one. A message is made once for all sockets; each puts
its own `seq` in.

**Neither hole nor double.** The hub listens before any room is, so a room need not subscribe. While a room
reads a snapshot it sends nothing; what it has not sent when the read begins, and what it receives from then
on, is sent after the snapshot. All it has received before, it has sent to those it was for, and it was
committed before it was published, hence before the read: the snapshot has it. So there is no hole. The
snapshot may hold an event already that is sent after it, and then it is told a second time. That does no
harm: an event sets the state of one (resource, agent), doing so again changes nothing, and all that came
after it comes again as well, in order.

**Order between processes.** The messages of one process arrive in order, those of two may cross. The
decisions of a workspace are taken under its lock at rising times, `at`; so, with several publishers, a room
lets events settle for `settle_s` and sorts them. If one comes later still than another publisher's about
the same resource or the same agent's trust, or at the same millisecond, the room does not guess but reads a
snapshot. This covers as well an event told a second time whose successor, of another process, the snapshot
has swallowed.

**Losses.** When the hub learns that something was lost, and when there is more to tell than a snapshot is
long, everyone concerned gets a snapshot, unasked. While the channel layer is down, a room sends no events
messages, not even empty ones, for such a message says that the board is right as of its `serverTime`; it
sends a snapshot marked `delayed` every `heartbeat_s`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from coordination.wire import serialize

from .arrivals import Arrivals
from .socket import Message, Socket

logger = logging.getLogger(__name__)

Json = dict[str, Any]
Read = Callable[[str], Awaitable[Json]]

LARGE = 100_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a room speaks, in seconds.

    `interval_s` is a little over a quarter: messages that jitter on their way are not five in a second.
    `remembered_s`: how long the authority remembers a deadlock refusal.
    """

    interval_s: float = 0.26
    heartbeat_s: float = 5.0
    settle_s: float = 0.1
    retry_s: float = 1.0
    read_s: float = 5.0
    deadlocks_s: float = 1.0
    remembered_s: float = 36.0
    events_limit: int = 500


class Feed(Protocol):
    """What a room needs of its hub."""

    pace: Pace
    snapshot: Read
    deadlocks: Read
    deaf: bool
    """Whether the channel layer is down."""

    def several(self) -> bool:
        """Whether other processes publish too."""


class Room:
    """The sockets of one workspace in this process. `waiting`: those that need a snapshot; `live`: those that
    have had one. All methods are for the event loop."""

    def __init__(self, workspace: str, feed: Feed) -> None:
        self.workspace = workspace
        self.live: set[Socket] = set()
        self.waiting: set[Socket] = set()
        self._feed = feed
        self._pace = feed.pace
        self._loop = asyncio.get_running_loop()
        self._arrivals = Arrivals()
        self._arrived_at = 0.0  # loop's time of the first of them
        self._stale = False
        self._wake = asyncio.Event()
        self._spoke_at = float("-inf")
        self._read_again_at = 0.0  # no snapshot before this
        self._offset_ms = 0.0  # the authority's clock minus the loop's
        self._latest = ""  # the latest instant that was told
        self._deadlocks: list[Json] = []
        self._deadlocks_read_at = 0.0
        self._deadlocks_differ = False  # some sockets know them of a snapshot that others were not sent
        self._watch_deadlocks_until = 0.0
        self._opened_at = self._loop.time()
        self._task = self._loop.create_task(self._run(), name=f"live-room-{workspace}")

    def __len__(self) -> int:
        return len(self.live | self.waiting)

    def request(self, socket: Socket) -> None:
        """Send this socket a snapshot, its first or a fresh one."""
        self.waiting.add(socket)
        self._wake.set()

    def leave(self, socket: Socket) -> None:
        self.live.discard(socket)
        self.waiting.discard(socket)

    def receive(self, publisher: str, events: list[Json] | None) -> None:
        """Events of one publisher in order; None for more than there is room for."""
        if not self._arrivals:
            self._arrived_at = self._loop.time()
        self._arrivals.add(publisher, events or ())
        if events is None or len(self._arrivals) > self._pace.events_limit:
            self._arrivals.take()
            self._stale = True
        self._wake.set()

    def doubt(self) -> None:
        """Something may have been lost: everyone gets a snapshot."""
        self._stale = True
        self._wake.set()

    def close(self) -> "asyncio.Task[None]":
        """End its task; the task, to wait for its end."""
        self._task.cancel()
        return self._task

    # --- turns -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._turn_comes()
            try:
                await self._turn()
            except Exception as error:
                logger.warning(
                    "a live snapshot failed: %s: %s",
                    type(error).__name__,
                    error,
                    extra={"workspace": self.workspace},
                )
                self._stale = True
                await asyncio.sleep(self._pace.retry_s)
                self._wake.set()

    async def _turn_comes(self) -> None:
        """Wait for something to say, then for the time when it may be said."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._silent_until()):
                await self._wake.wait()
        earliest = self._spoke_at + self._pace.interval_s
        if self._arrivals and self._feed.several():
            earliest = max(earliest, self._arrived_at + self._pace.settle_s)
        if self._stale:
            earliest = max(earliest, self._read_again_at)
        if (pause := earliest - self._loop.time()) > 0:
            await asyncio.sleep(pause)
        self._wake.clear()

    def _silent_until(self) -> float:
        """The loop's time at which the room speaks, or looks, even if nothing happens."""
        until = max(self._spoke_at, self._opened_at) + self._pace.heartbeat_s
        if self._watching_deadlocks() and not self._feed.deaf:
            until = min(until, self._deadlocks_read_at + self._pace.deadlocks_s)
        return until

    async def _turn(self) -> None:
        if self._feed.deaf and self._loop.time() >= self._spoke_at + self._pace.heartbeat_s:
            self._stale = True
        if not self._stale and not self._feed.deaf:
            await self._tell()
        if self._stale:
            self._stale = False  # what is learnt from now on is news
            self._arrivals.take()
            await self._refresh(self.live | self.waiting)
        elif self.waiting and self._loop.time() >= self._read_again_at:
            await self._refresh(set(self.waiting))
        elif self.waiting:
            self._loop.call_at(self._read_again_at, self._wake.set)

    async def _tell(self) -> None:
        """Send what has happened, or that nothing has."""
        events, certain = self._arrivals.take()
        if not certain:
            self._stale = True
            return
        if events:
            self._latest = max(self._latest, events[-1]["at"])
        deadlocks = await self._new_deadlocks(events)
        beat = self._loop.time() >= self._spoke_at + self._pace.heartbeat_s
        if not (events or deadlocks is not None or beat):
            return
        body: Json = {"serverTime": self._server_time(), "events": events}
        if deadlocks is not None:
            body["deadlocks"] = deadlocks
        self._send(Message.of("events", body), self.live - self.waiting)

    async def _refresh(self, sockets: set[Socket]) -> None:
        """Read a snapshot and send it to these."""
        begun = self._loop.time()
        picture = await self._read(self._feed.snapshot)
        # However many come and go, one workspace's snapshots take only a part of the time of who reads them.
        self._read_again_at = self._loop.time() + 3 * (self._loop.time() - begun)
        self._latest = picture["serverTime"]
        if self._feed.deaf:
            picture["delayed"] = True
        message = Message.of("snapshot", picture)
        if len(message.after.end) > LARGE:
            # Compressing takes tens of milliseconds, for which nobody else need wait.
            await asyncio.to_thread(message.after.compress)
        present = sockets & (self.live | self.waiting)
        self._send(message, present, whole=True)
        self._deadlocks_differ = not self.live <= present and (
            self._deadlocks_differ or picture["deadlocks"] != self._deadlocks
        )
        if self._deadlocks_differ:
            self._wake.set()
        self._note_deadlocks(picture["deadlocks"])
        self.live |= present
        self.waiting -= present

    def _send(self, message: Message, sockets: set[Socket], whole: bool = False) -> None:
        for socket in sockets:
            socket.offer(message, whole)
        self._spoke_at = self._loop.time()

    # --- deadlocks: no event says that one has ended -----------------------------------------------

    async def _new_deadlocks(self, events: list[Json]) -> list[Json] | None:
        """The deadlock pairs if they have changed.

        They are read when a refusal is told, and then every `deadlocks_s` for as long as one is remembered:
        pairs end, and come back, without an event of their own.
        """
        now = self._loop.time()
        kinds = {event["event"] for event in events}
        # A refusal from before this room was opened may close a cycle again when its holder waits again.
        unseen = "queued" in kinds and now < self._opened_at + self._pace.remembered_s
        if "deadlock" in kinds or unseen:
            self._watch_deadlocks_until = now + self._pace.remembered_s
        if not (self._watching_deadlocks() or self._deadlocks_differ):
            return None
        fresh = "deadlock" in kinds or self._deadlocks_differ
        if not fresh and now < self._deadlocks_read_at + self._pace.deadlocks_s:
            return None
        before, differ = self._deadlocks, self._deadlocks_differ
        self._note_deadlocks((await self._read(self._feed.deadlocks))["deadlocks"])
        self._deadlocks_differ = False
        return self._deadlocks if differ or self._deadlocks != before else None

    def _watching_deadlocks(self) -> bool:
        return bool(self._deadlocks) or self._loop.time() < self._watch_deadlocks_until

    def _note_deadlocks(self, pairs: list[Json]) -> None:
        self._deadlocks, self._deadlocks_read_at = pairs, self._loop.time()

    # --- time ------------------------------------------------------------------------------------

    async def _read(self, read: Read) -> Json:
        async with asyncio.timeout(self._pace.read_s):
            picture = await read(self.workspace)
        server = datetime.fromisoformat(picture["serverTime"]).timestamp()
        self._offset_ms = (server - self._loop.time()) * 1000
        return picture

    def _server_time(self) -> str:
        """The authority's time, reckoned from its last reading; never before what was told."""
        self._latest = max(serialize.instant(round(self._loop.time() * 1000 + self._offset_ms)), self._latest)
        return self._latest
