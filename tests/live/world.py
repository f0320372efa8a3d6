"""Server processes with an authority that the test plays: publisher, hub and clients."""

import asyncio
from typing import Any

import orjson
from channels.layers import InMemoryChannelLayer

from coordination.authority.publisher import Publisher
from coordination.live.hub import Hub
from coordination.live.room import Pace
from coordination.live.socket import Socket
from intramedial.accounts.watching import Visitor
from intramedial.http.formats import rfc3339_of_ms

WORKSPACE = "ws_test"
EPOCH_MS = 1_700_000_000_000


def now() -> str:
    """The time of the test's authority, which is the time of the loop."""
    return rfc3339_of_ms(EPOCH_MS + round(asyncio.get_running_loop().time() * 1000))


def event(
    resource: str = "lock:a", kind: str = "granted", at: str | None = None, **more: Any
) -> dict[str, Any]:
    """An event as the authority publishes it."""
    return {"event": kind, "resource": resource, "actorDid": "did:example:a", "at": at or now(), **more}


class World:
    """What the test's authority has decided. `truth` lists the resources of all events.

    A read takes `read_s` seconds and returns the state at its beginning.
    """

    def __init__(self) -> None:
        self.truth: list[str] = []
        self.deadlocks: list[dict[str, Any]] = []
        self.reads: list[float] = []
        self.deadlock_reads: list[float] = []
        self.read_s = 0.0
        self.deadlock_read_s = 0.0
        self.fault: Exception | None = None

    async def snapshot(self, workspace: str) -> dict[str, Any]:
        self.reads.append(asyncio.get_running_loop().time())
        seen, at = list(self.truth), now()
        await asyncio.sleep(self.read_s)
        if self.fault is not None:
            raise self.fault
        return {
            "serverTime": at,
            "holders": seen,
            "queue": [],
            "deadlocks": list(self.deadlocks),
            "trust": {},
        }

    async def deadlock_list(self, workspace: str) -> dict[str, Any]:
        self.deadlock_reads.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.deadlock_read_s)
        return {"serverTime": now(), "deadlocks": list(self.deadlocks)}


class Client:
    """Keeps the messages of a socket, with the loop's time of arrival. It stops reading while `may_read` is
    not set."""

    def __init__(self, hub: Hub, workspace: str = WORKSPACE, limit: int = 1000) -> None:
        self.hub = hub
        self.received: list[tuple[float, dict[str, Any]]] = []
        self.ended: list[str] = []
        socket = hub.join(Visitor(workspace), limit, lambda problem: self.ended.append(problem.reason))
        assert socket is not None
        self.socket: Socket = socket
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            beginning, shared = await self.socket.next()
            await self.may_read.wait()
            self.received.append((asyncio.get_running_loop().time(), orjson.loads(shared.after(beginning))))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [message for _, message in self.received]

    @property
    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for message in self.messages for event in message.get("events", ())]

    def leave(self) -> None:
        self.task.cancel()
        self.hub.leave(self.socket)


class Process:
    """One server process: a publisher and a hub, on a channel layer that it may share with others."""

    def __init__(self, world: World, layer: Any = None, pace: Pace | None = None) -> None:
        self.world = world
        self.publisher = Publisher()
        self.layer = layer or InMemoryChannelLayer()
        self.ended: dict[Any, Any] = {}
        self.hub = Hub(self.publisher, self.layer, world.snapshot, world.deadlock_list, self.check, pace)
        self.hub.start()

    async def check(self, watchers: Any) -> dict[Any, Any]:
        return self.ended

    def decide(self, *events: dict[str, Any]) -> None:
        """Commit and publish events."""
        self.world.truth += [event["resource"] for event in events]
        self.publisher.publish(WORKSPACE, list(events))

    def client(self) -> Client:
        return Client(self.hub)


class LossyLayer(InMemoryChannelLayer):
    """A channel layer of several processes that can lose messages, fail, and delay messages."""

    def __init__(self) -> None:
        super().__init__()
        self.lose = 0
        self.fault: Exception | None = None
        self.delays: dict[str, float] = {}

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self.fault is not None:
            raise self.fault
        if self.lose and message["type"] == "live.events":
            self.lose -= 1
            return
        if message["type"] == "live.events":
            await asyncio.sleep(self.delays.get(message["publisher"], 0.0))
        await super().group_send(group, message)

    async def group_add(self, group: str, channel: str) -> None:
        if self.fault is not None:
            raise self.fault
        await super().group_add(group, channel)


async def started(*processes: Process) -> None:
    for process in processes:
        await process.hub.ready.wait()
    await asyncio.sleep(2.1)  # each process has received a beat of each other


async def stopped(*processes: Process) -> None:
    for process in processes:
        await process.hub.stop()
