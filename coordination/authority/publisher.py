"""The publisher: it sends the events of this process to the live boards of all processes.

Theory of operation
===================

The authority calls `publish` after a commit, from its own thread. That only puts events into a bounded
buffer. A task on the server's event loop sends the buffer as one message on the channel layer, at once and
then every `INTERVAL_S`. Every process listens to the same group (`live/hub.py`) and gives its sockets the
events of their workspaces. There is one group for all workspaces. So a process sends a limited number of
messages a second, however many workspaces are busy, and a listener subscribes once, when it starts, so that a
board that opens cannot miss an event.

No lease depends on this. A message may be lost: the in-memory layer drops messages silently when it is full,
Redis may be away, a process may be killed. This is how a loss is repaired:

- Each message has its `publisher` (this process) and a `number` that rises by one. When a number is skipped,
  the listener has missed something. It need not know what: every board of that process gets a fresh snapshot.
  When too many events wait, of all workspaces, they are dropped and a number is skipped.
- A workspace with more than `EVENTS_LIMIT` events in one message is sent as `None`: its boards need a
  snapshot, which is shorter than the events.
- A beat every `BEAT_S` repeats the last number. It reveals the loss of the last message before a pause. When
  beats are missing, a publisher has died, perhaps with events that were not sent, or the layer is away.

Beats also have the number of sockets of each workspace here. A changed number is sent as soon as an event
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

from intramedial.http.formats import Json

logger = logging.getLogger(__name__)

GROUP = "live"
INTERVAL_S = 0.05
BEAT_S = 2.0
SEND_S = 2.0
EVENTS_LIMIT = 500
HELD_LIMIT = 20_000
CANCEL_AGAIN_S = 0.1


class Publisher:
    """One for each process. Any thread may call `publish`; the rest is for the event loop of `attach`."""

    def __init__(self) -> None:
        self.publisher = secrets.token_hex(8)
        self.number = 0
        self._lock = threading.Lock()
        self._held: dict[str, list[Json] | None] = {}
        self._count = 0
        self._lost = False
        self._recounted: set[str] = set()
        self._failing = False
        self._wanted: Container[str] | None = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    # --- any thread ------------------------------------------------------------------------------

    def wanted(self, workspace: str) -> bool:
        """Whether a socket may be watching the workspace. False is never wrong: a socket that begins to watch
        later reads a snapshot after that, which has all that was committed before this call."""
        return self._wanted is None or workspace in self._wanted

    def publish(self, workspace: str, events: list[Json]) -> None:
        """Send the events of a workspace, in order. Returns at once, never raises, keeps at most `HELD_LIMIT`
        events. The dictionaries must not change afterwards."""
        try:
            if events and self.wanted(workspace) and self._hold(workspace, events) and self._loop is not None:
                self._loop.call_soon_threadsafe(self._wake.set)
        except Exception:
            logger.exception("events of the live boards were not published")

    def _hold(self, workspace: str, events: list[Json]) -> bool:
        """Put into the buffer; True if it was empty: then the task must be woken."""
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

        `wanted`: the workspaces that sockets watch, or None where other processes may watch any. `sockets`
        returns how many sockets each workspace has here, which each beat sends.
        """
        self._layer, self._wanted, self._sockets = layer, wanted, sockets
        self._wake = asyncio.Event()
        self._wake.set()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(), name="live-broadcast")

    def recount(self, workspace: str) -> None:
        """Send soon how many sockets the workspace has here: one has joined or left."""
        if self._loop is not None:
            self._recounted.add(workspace)
            self._wake.set()

    async def detach(self) -> None:
        """Send the buffer and end."""
        task, self._task, self._loop = self._task, None, None
        if task is not None:
            await end_task(task)
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
            # Nothing to repair here: the number was used, and listeners notice that it is missing.
            if not self._failing:
                logger.warning("the channel layer fails: %s: %s", type(error).__name__, error)
            self._failing = True
        else:
            self._failing = False


async def end_task(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait until it has ended; its exception is ignored.

    It is cancelled again and again, because a cancellation can be lost. `asyncio.wait_for`, which the channel
    layers use, loses it before Python 3.12 when what it waits for is done at the same moment.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()


def _pack(events: list[Json] | None) -> bytes | None:
    try:
        return None if events is None else orjson.dumps(events)
    except TypeError:
        logger.exception("events of the live boards have no JSON form")
        return None
