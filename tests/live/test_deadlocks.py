"""Deadlock pairs on a board: no event says that one has ended."""

import asyncio
from typing import Any

from tests.live.world import Process, World, event

DEADLOCK: dict[str, Any] = {"agents": ["did:example:a", "did:example:b"], "resources": ["lock:b", "lock:a"]}


def test_deadlocks_are_told_when_they_come_and_when_they_go(leap: asyncio.Runner) -> None:
    """No event says that one has ended."""

    async def scenario() -> None:
        world = World()
        process = Process(world)
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1)
        world.deadlocks = [DEADLOCK]
        process.decide(event("lock:b", "deadlock"))
        await asyncio.sleep(0.5)
        assert client.messages[-1]["deadlocks"] == [DEADLOCK]
        process.decide(event("lock:c", "granted"))
        await asyncio.sleep(0.5)
        assert "deadlocks" not in client.messages[-1]
        world.deadlocks = []  # withdrawn, or run out: nothing is told
        await asyncio.sleep(1.5)
        assert (client.messages[-1]["events"], client.messages[-1]["deadlocks"]) == ([], [])
        await process.hub.stop()

    leap.run(scenario())


def test_deadlocks_are_not_read_where_none_can_be(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        world = World()
        process = Process(world)
        await process.hub.ready.wait()
        process.client()
        for _ in range(200):
            process.decide(event(), event(kind="released"))
            await asyncio.sleep(0.3)
        assert world.deadlock_reads == []
        await process.hub.stop()

    leap.run(scenario())


def test_what_happens_while_deadlocks_are_read_is_told(leap: asyncio.Runner) -> None:
    """To those that watch already, even if another one comes at that moment and is given a snapshot."""

    async def scenario() -> None:
        world = World()
        world.deadlock_read_s = 0.2
        process = Process(world)
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1)
        process.decide(event("lock:b", "deadlock"))
        await asyncio.sleep(0.02)
        process.decide(event("lock:a"))
        late = process.client()
        await asyncio.sleep(1)
        assert [told["resource"] for told in client.events] == ["lock:b", "lock:a"]
        assert "lock:a" in late.messages[0]["holders"] + [told["resource"] for told in late.events]
        await process.hub.stop()

    leap.run(scenario())


def test_deadlocks_of_a_newcomers_snapshot_are_told_to_those_that_watch_already(leap: asyncio.Runner) -> None:
    """They change without an event; a snapshot for one may be the first to show it."""

    async def scenario() -> None:
        world = World()
        world.deadlocks = [DEADLOCK]
        process = Process(world)
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1.2)
        assert client.messages[0]["deadlocks"] == [DEADLOCK]
        world.deadlocks = []
        late = process.client()
        await asyncio.sleep(0.1)
        assert late.messages[0]["deadlocks"] == []
        await asyncio.sleep(1)
        assert [message["deadlocks"] for message in client.messages if "deadlocks" in message] == [
            [DEADLOCK],
            [],
        ]
        await process.hub.stop()

    leap.run(scenario())
