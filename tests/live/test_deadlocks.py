"""Deadlock pairs on a board: no event is published when one ends."""

import asyncio
from typing import Any

from tests.live.world import Process, World, event

DEADLOCK: dict[str, Any] = {"agents": ["did:example:a", "did:example:b"], "resources": ["lock:b", "lock:a"]}


def test_a_board_shows_the_beginning_and_the_end_of_a_deadlock(leap: asyncio.Runner) -> None:
    """No event is published when a deadlock ends."""

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
        world.deadlocks = []  # withdrawn or expired: no event is published
        await asyncio.sleep(1.5)
        assert (client.messages[-1]["events"], client.messages[-1]["deadlocks"]) == ([], [])
        await process.hub.stop()

    leap.run(scenario())


def test_deadlocks_are_not_read_while_there_can_be_none(leap: asyncio.Runner) -> None:
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


def test_events_during_a_read_of_deadlocks_are_sent(leap: asyncio.Runner) -> None:
    """The first client receives them, even if a second client connects meanwhile and receives a snapshot."""

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
        assert [item["resource"] for item in client.events] == ["lock:b", "lock:a"]
        assert "lock:a" in late.messages[0]["holders"] + [item["resource"] for item in late.events]
        await process.hub.stop()

    leap.run(scenario())


def test_deadlocks_in_a_new_clients_snapshot_are_sent_to_the_other_clients(leap: asyncio.Runner) -> None:
    """Deadlocks change without an event, so the snapshot for one client can be the first to show a change."""

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
