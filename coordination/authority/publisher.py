"""From a decision to the live boards: what this process has decided, told to every process.

Theory of operation
===================

The authority calls `publish` after a commit, from its own thread. That only puts events into a bounded box;
a task on the server's event loop empties the box, at once and then every `INTERVAL_S`, into one message on
the channel layer. Every process listens to the same group (`live/hub.py`) and passes on what its sockets
watch. One group for all and not one a workspace: a process then sends at most twenty messages a second,
however many workspaces are busy, and a listener subscribes once, at its start, so that a board that opens
can miss nothing.

No lease depends on any of this. A message may be lost: the in-memory layer drops silently above a hundred,
Redis may be away, a process may be killed. What makes that harmless:

- Each message carries its `publisher` (this process) and a `number` that rises by one. A number that is
  skipped tells the listener that it has missed something; it does not need to know what: every board of
  that process gets a fresh snapshot. Too many events, of all workspaces, are dropped just so: a number is
  skipped.
- A workspace with more than `EVENTS_LIMIT` events in one message is sent as `None`: its boards need a
  snapshot, which is shorter than what happened.
- A beat every `BEAT_S` repeats the last number. It uncovers the loss of the last message before a silence,
  and its own absence uncovers a publisher that died with events untold, or a layer that is gone.

Beats also say how many sockets each workspace has here. A count that has changed is told as soon as an event
would be, so that the limit on a workspace's sockets holds for all processes together.
"""

import asyncio
import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Container
from typing import Any

import orjson
from channels.layers import BaseChannelLayer

from .tasks import end

logger = logging.getLogger(__name__)

GROUP = "live"
INTERVAL_S = 0.05
BEAT_S = 2.0
SEND_S = 2.0
EVENTS_LIMIT = 500
HELD_LIMIT = 20_000

Event = dict[str, Any]


class Broadcaster:
    """One per process. `publish` is for any thread, all else for the event loop it is attached to."""

    def __init__(self) -> None:
        self.publisher = secrets.token_hex(8)
        self.number = 0
        self._lock = threading.Lock()
        self._held: dict[str, list[Event] | None] = {}
        self._count = 0
        self._lost = False
        self._recounted: set[str] = set()
        self._failing = False
        self._wanted: Container[str] | None = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    # --- any thread ------------------------------------------------------------------------------

    def wanted(self, workspace: str) -> bool:
        """Whether anybody may be watching. A false no is impossible: who begins to watch reads a snapshot
        afterwards, which has what was committed before this was asked."""
        return self._wanted is None or workspace in self._wanted

    def publish(self, workspace: str, events: list[Event]) -> None:
        """Tell what has happened in a workspace, in order. Returns at once, never raises, keeps no more than
        `HELD_LIMIT` events; the dictionaries must not change afterwards."""
        try:
            if events and self.wanted(workspace) and self._hold(workspace, events) and self._loop is not None:
                self._loop.call_soon_threadsafe(self._wake.set)
        except Exception:
            logger.exception("events of the live boards were not told")

    def _hold(self, workspace: str, events: list[Event]) -> bool:
        """Put into the box; True if it was empty, that is, if somebody must be woken."""
        with self._lock:
            first = not self._held and not self._lost
            held = self._held.setdefault(workspace, [])
            if held is None:
                return first
            held += events
            self._count += len(events)
            if len(held) > EVENTS_LIMIT:
                self._held[workspace] = None
                self._count -= len(held)
            if self._count + len(self._held) > HELD_LIMIT:
                self._held, self._count, self._lost = {}, 0, True
            return first

    # --- the event loop --------------------------------------------------------------------------

    def attach(
        self,
        layer: BaseChannelLayer,
        wanted: Container[str] | None,
        sockets: Callable[[], dict[str, int]] = dict,
    ) -> None:
        """Begin to send over `layer`, from the running loop.

        `wanted`: the workspaces somebody watches, or None where other processes may watch any. `sockets`: how
        many sockets each workspace has here, told with each beat.
        """
        self._layer, self._wanted, self._sockets = layer, wanted, sockets
        self._wake = asyncio.Event()
        self._wake.set()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(), name="live-broadcast")

    def recount(self, workspace: str) -> None:
        """Tell soon how many sockets the workspace has here: one has come or gone."""
        if self._loop is not None:
            self._recounted.add(workspace)
            self._wake.set()

    async def detach(self) -> None:
        """Send what is held and end."""
        task, self._task, self._loop = self._task, None, None
        if task is not None:
            await end(task)
            await self._send_held()
        self._wanted = ()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        beat_at = loop.time()
        while True:
            if loop.time() >= beat_at:
                beat_at = loop.time() + BEAT_S
                await self._send({"type": "live.beat", "sockets": self._sockets()})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(beat_at):
                    await self._wake.wait()
                self._wake.clear()
                await self._send_counts()
                await self._send_held()
                await asyncio.sleep(INTERVAL_S)

    async def _send_counts(self) -> None:
        recounted, self._recounted = self._recounted, set()
        if recounted:
            here = self._sockets()
            counts = {workspace: here.get(workspace, 0) for workspace in recounted}
            await self._send({"type": "live.sockets", "sockets": counts})

    async def _send_held(self) -> None:
        with self._lock:
            held, self._held, self._count = self._held, {}, 0
            lost, self._lost = self._lost, False
        self.number += lost
        if held:
            self.number += 1
            await self._send({"type": "live.events", "batches": {name: _pack(held[name]) for name in held}})

    async def _send(self, message: dict[str, Any]) -> None:
        message |= {"publisher": self.publisher, "number": self.number}
        try:
            async with asyncio.timeout(SEND_S):
                await self._layer.group_send(GROUP, message)
        except Exception as error:
            # Nothing to repair here: the number was used up, and listeners will see that.
            if not self._failing:
                logger.warning("the channel layer fails: %s: %s", type(error).__name__, error)
            self._failing = True
        else:
            self._failing = False


def _pack(events: list[Event] | None) -> bytes | None:
    try:
        return None if events is None else orjson.dumps(events)
    except TypeError:
        logger.exception("events of the live boards have no JSON form")
        return None


_broadcaster = Broadcaster()


def broadcaster() -> Broadcaster:
    """The broadcaster of this process."""
    return _broadcaster


def wanted(workspace: str) -> bool:
    """See `Broadcaster.wanted`: events nobody watches need not even be made."""
    return _broadcaster.wanted(workspace)


def publish(workspace: str, events: list[Event]) -> None:
    """See `Broadcaster.publish`."""
    _broadcaster.publish(workspace, events)
