"""One room for each workspace in a process. It sends all its sockets the same messages.

Theory of operation
===================

The hub (`hub.py`) listens to the channel layer for the whole process and hands each room the events of its
workspace. A room has one task that takes turns. In a turn it sends the events that have arrived, at most once
in `interval_s`, and reads a snapshot for the sockets that need one. A message is made once for all sockets;
each socket adds its own `seq`.

**No event is missing, and a repeated one does no harm.** The hub listens before the first room exists, so a
room need not subscribe. A room sends nothing while it reads a snapshot. Events that it has not sent when the
read begins, and events that it receives from then on, are sent after the snapshot. An event that it sent
before was committed before it was published, hence before the read, so the snapshot contains it: nothing is
missing. The snapshot may also contain an event that is sent after it. Such an event is sent twice, which does
no harm: it sets the state of one (resource, agent) and changes nothing the second time, and all later events
follow again in order.

**Order between processes.** Messages of one process arrive in order; messages of two may overtake each other.
Decisions about a workspace are made under its lock, at rising times `at`. So with several publishers a room
collects events for `settle_s` and sorts them. An event may still arrive after a later one of another
publisher about the same resource or the same agent's trust, or both may have the same millisecond. Then the
order is unknown and the room reads a snapshot. The same rule covers an event that is sent twice when the
snapshot already contained its successor, made by another process.

**Losses.** Every socket gets a snapshot when the hub learns that events were lost, and when the events that
wait are longer than a snapshot. While the channel layer is down, a room sends no `events` messages, not even
empty ones, because each of them states that the board is right as of its `serverTime`. It sends a snapshot
marked `delayed` every `heartbeat_s` instead.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from intramedial.http.formats import Json, rfc3339_of_ms

from .arrivals import Arrivals
from .socket import Message, Socket

logger = logging.getLogger(__name__)

Read = Callable[[str], Awaitable[Json]]

LARGE = 100_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a room sends, in seconds.

    `interval_s` is a little over a quarter of a second, so that delays on the way never put five messages
    into one second. `remembered_s`: how long the authority remembers a deadlock refusal.
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
    """The sockets of one workspace in this process. Sockets in `waiting` need a snapshot, sockets in `live`
    have had one. All methods run on the event loop."""

    def __init__(self, workspace: str, feed: Feed) -> None:
        self.workspace = workspace
        self.live: set[Socket] = set()
        self.waiting: set[Socket] = set()
        self._feed = feed
        self._pace = feed.pace
        self._loop = asyncio.get_running_loop()
        self._arrivals = Arrivals()
        self._arrived_at = 0.0  # loop time at which the first of them arrived
        self._stale = False
        self._wake = asyncio.Event()
        self._sent_at = float("-inf")
        self._read_again_at = 0.0  # no snapshot before this
        self._offset_ms = 0.0  # the authority's clock minus the loop's
        self._latest = ""  # the latest instant that was sent
        self._deadlocks: list[Json] = []
        self._deadlocks_read_at = 0.0
        self._deadlocks_differ = False  # some sockets got newer ones, with a snapshot for them alone
        self._watch_deadlocks_until = 0.0
        self._opened_at = self._loop.time()
        self._task = self._loop.create_task(self._run(), name=f"live-room-{workspace}")

    def __len__(self) -> int:
        return len(self.live | self.waiting)

    def request(self, socket: Socket) -> None:
        """Send this socket a snapshot soon."""
        self.waiting.add(socket)
        self._wake.set()

    def leave(self, socket: Socket) -> None:
        """Remove a socket."""
        self.live.discard(socket)
        self.waiting.discard(socket)

    def receive(self, publisher: str, events: list[Json] | None) -> None:
        """Take events of one publisher in order; None stands for more events than a message holds."""
        if not self._arrivals:
            self._arrived_at = self._loop.time()
        self._arrivals.add(publisher, events or ())
        if events is None or len(self._arrivals) > self._pace.events_limit:
            self._arrivals.take()
            self._stale = True
        self._wake.set()

    def doubt(self) -> None:
        """Events may have been lost: send all sockets a snapshot."""
        self._stale = True
        self._wake.set()

    def close(self) -> "asyncio.Task[None]":
        """Cancel the room's task and return it, so that the caller can wait for its end."""
        self._task.cancel()
        return self._task

    # --- turns -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._wait_for_turn()
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

    async def _wait_for_turn(self) -> None:
        """Wait until there is something to send, then until it may be sent."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._next_turn_at()):
                await self._wake.wait()
        earliest = self._sent_at + self._pace.interval_s
        if self._arrivals and self._feed.several():
            earliest = max(earliest, self._arrived_at + self._pace.settle_s)
        if self._stale:
            earliest = max(earliest, self._read_again_at)
        if (pause := earliest - self._loop.time()) > 0:
            await asyncio.sleep(pause)
        self._wake.clear()

    def _next_turn_at(self) -> float:
        """The loop time of the next turn when nothing happens: for a heartbeat, or to read deadlocks
        again."""
        until = max(self._sent_at, self._opened_at) + self._pace.heartbeat_s
        if self._watching_deadlocks() and not self._feed.deaf:
            until = min(until, self._deadlocks_read_at + self._pace.deadlocks_s)
        return until

    async def _turn(self) -> None:
        if self._feed.deaf and self._loop.time() >= self._sent_at + self._pace.heartbeat_s:
            self._stale = True
        if not self._stale and not self._feed.deaf:
            await self._send_events()
        if self._stale:
            self._stale = False  # before the read, which another loss may follow
            self._arrivals.take()
            await self._refresh(self.live | self.waiting)
        elif self.waiting and self._loop.time() >= self._read_again_at:
            await self._refresh(set(self.waiting))
        elif self.waiting:
            self._loop.call_at(self._read_again_at, self._wake.set)

    async def _send_events(self) -> None:
        """Send the events that have arrived, or none as a heartbeat."""
        events, certain = self._arrivals.take()
        if not certain:
            self._stale = True
            return
        if events:
            self._latest = max(self._latest, events[-1]["at"])
        deadlocks = await self._new_deadlocks(events)
        beat = self._loop.time() >= self._sent_at + self._pace.heartbeat_s
        if not (events or deadlocks is not None or beat):
            return
        body: Json = {"serverTime": self._server_time(), "events": events}
        if deadlocks is not None:
            body["deadlocks"] = deadlocks
        self._send(Message.of("events", body), self.live - self.waiting)

    async def _refresh(self, sockets: set[Socket]) -> None:
        """Read a snapshot and send it to these sockets."""
        begun = self._loop.time()
        picture = await self._read(self._feed.snapshot)
        # However many sockets come and go, snapshots of one workspace take at most a quarter of the reader's
        # time.
        self._read_again_at = self._loop.time() + 3 * (self._loop.time() - begun)
        self._latest = picture["serverTime"]
        if self._feed.deaf:
            picture["delayed"] = True
        message = Message.of("snapshot", picture)
        if len(message.after.end) > LARGE:
            # Compressing takes tens of milliseconds, for which no other socket should wait.
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
        self._sent_at = self._loop.time()

    # --- deadlocks: no event says that one has ended -----------------------------------------------

    async def _new_deadlocks(self, events: list[Json]) -> list[Json] | None:
        """The deadlock pairs if they have changed.

        They are read when a refusal is among the events, and then every `deadlocks_s` for as long as the
        authority remembers one: pairs end and come back without an event.
        """
        now = self._loop.time()
        kinds = {event["event"] for event in events}
        # A refusal that is older than this room may close a cycle again when its holder waits again.
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
        """The authority's time, computed from the last read; never earlier than an instant that was sent."""
        self._latest = max(rfc3339_of_ms(round(self._loop.time() * 1000 + self._offset_ms)), self._latest)
        return self._latest
