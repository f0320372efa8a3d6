"""Rooms and the hub keep the contract ("Live"), on a loop whose time leaps."""

import asyncio
from itertools import pairwise

import pytest

from tests.live.world import WORKSPACE, Client, Process, World, event


def test_snapshot_then_events(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        world = World()
        process = Process(world)
        await process.hub.ready.wait()
        world.truth.append("lock:before")
        client = process.client()
        await asyncio.sleep(0.01)
        process.decide(event("lock:a"))
        await asyncio.sleep(0.3)
        snapshot, events = client.messages
        assert (snapshot["type"], snapshot["seq"], snapshot["holders"]) == ("snapshot", 1, ["lock:before"])
        assert (events["type"], events["seq"]) == ("events", 2)
        assert [item["resource"] for item in events["events"]] == ["lock:a"]
        assert list(events)[:3] == ["type", "seq", "serverTime"]
        await process.hub.stop()

    leap.run(scenario())


def test_a_message_comes_at_once_and_then_at_most_four_a_second(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        for number in range(1000):
            process.decide(event(f"lock:{number}"))
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        times = [at - began for at, message in client.received if message.get("events")]
        assert times[0] < 0.001
        for first, fifth in zip(times, times[4:], strict=False):
            assert fifth - first >= 1.0
        assert len(times) >= 35  # in ten seconds: messages do not come more slowly than they may
        assert [item["resource"] for item in client.events] == [f"lock:{number}" for number in range(1000)]
        assert [message["seq"] for message in client.messages] == list(range(1, len(client.messages) + 1))
        await process.hub.stop()

    leap.run(scenario())


def test_server_time_is_in_every_message_and_never_goes_back(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        client = process.client()
        for number in range(5):
            await asyncio.sleep(0.4)
            process.decide(event(f"lock:{number}"))
        await asyncio.sleep(6)
        times = [message["serverTime"] for message in client.messages]
        assert times == sorted(times)
        for message in client.messages:
            assert all(item["at"] <= message["serverTime"] for item in message.get("events", ()))
        await process.hub.stop()

    leap.run(scenario())


def test_a_heartbeat_comes_every_five_seconds(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(21)
        assert client.kinds == ["snapshot", "events", "events", "events", "events"]
        assert client.events == []
        await process.hub.stop()

    leap.run(scenario())


@pytest.mark.parametrize("read_s", [0.0, 0.2, 1.0])
def test_nothing_is_missing_between_snapshot_and_events(leap: asyncio.Runner, read_s: float) -> None:
    """Clients connect at any time between decisions. The snapshot and the events together contain everything.
    A resource that is in both is followed by all later ones, in order."""

    async def scenario() -> None:
        world = World()
        world.read_s = read_s
        process = Process(world)
        await process.hub.ready.wait()
        clients = []
        for number in range(200):
            process.decide(event(f"lock:{number}"))
            await asyncio.sleep(0.013)
            if number % 7 == 0:
                clients.append(process.client())
        await asyncio.sleep(12)
        for client in clients:
            assert client.kinds.count("snapshot") == 1
            had = client.messages[0]["holders"]
            received = [item["resource"] for item in client.events]
            first = int(received[0].removeprefix("lock:")) if received else len(world.truth)
            assert had == world.truth[: len(had)]
            assert received == world.truth[first:]
            assert first <= len(had)
        await process.hub.stop()

    leap.run(scenario())


def test_a_thousand_sockets_share_one_snapshot(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        world = World()
        world.read_s = 0.05
        process = Process(world)
        await process.hub.ready.wait()
        clients = [process.client() for _ in range(1000)]
        await asyncio.sleep(1)
        assert len(world.reads) == 1
        assert all(client.kinds == ["snapshot"] for client in clients)
        await process.hub.stop()

    leap.run(scenario())


def test_resync_sends_a_snapshot_to_the_client_that_asks(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        asking, other = process.client(), process.client()
        await asyncio.sleep(1)
        asking.socket.request()
        await asyncio.sleep(1)
        assert (asking.kinds, other.kinds) == (["snapshot", "snapshot"], ["snapshot"])
        assert [message["seq"] for message in asking.messages] == [1, 2]
        await process.hub.stop()

    leap.run(scenario())


def test_a_client_that_asks_for_a_snapshot_skips_the_events_before_it(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        asking, other = process.client(), process.client()
        await asyncio.sleep(1)
        process.decide(event())
        await asyncio.sleep(0.1)
        process.decide(event())
        asking.socket.request()
        await asyncio.sleep(1)
        assert (asking.kinds, other.kinds) == (
            ["snapshot", "events", "snapshot"],
            ["snapshot", "events", "events"],
        )
        await process.hub.stop()

    leap.run(scenario())


def test_one_snapshot_at_most_is_kept_for_a_client_that_does_not_read(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1)
        client.may_read.clear()
        for _ in range(20):
            process.hub.rooms[WORKSPACE].doubt()
            await asyncio.sleep(1)
            assert len(client.socket._queue) <= 1
        await process.hub.stop()

    leap.run(scenario())


def test_too_many_events_become_a_snapshot(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1)
        process.decide(*(event(f"lock:{number}") for number in range(501)))
        process.decide(event("lock:last"))
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "snapshot"]
        assert len(client.messages[1]["holders"]) == 502
        await process.hub.stop()

    leap.run(scenario())


def test_a_client_receives_events_of_its_workspace_only(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        client, foreign = process.client(), Client(process.hub, "ws_other")
        await asyncio.sleep(1)
        process.decide(event())
        await asyncio.sleep(1)
        assert (len(client.events), len(foreign.events)) == (1, 0)
        await process.hub.stop()

    leap.run(scenario())


def test_a_slow_client_has_a_short_queue_and_skips_to_a_snapshot(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        slow, quick = process.client(), process.client()
        await asyncio.sleep(1)
        slow.may_read.clear()
        for number in range(1000):
            process.decide(event(f"lock:{number}"))
            await asyncio.sleep(0.05)
            assert len(slow.socket._queue) <= 4
        slow.may_read.set()
        await asyncio.sleep(2)
        assert [item["resource"] for item in quick.events] == process.world.truth
        # The message that was being sent, then a snapshot with everything that the client has missed.
        assert slow.kinds == ["snapshot", "events", "snapshot"]
        assert slow.messages[-1]["holders"] == process.world.truth
        assert [message["seq"] for message in slow.messages] == [1, 2, 3]
        await process.hub.stop()

    leap.run(scenario())


def test_a_failing_read_is_tried_again_and_nothing_is_sent_meanwhile(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        world = World()
        process = Process(world)
        await process.hub.ready.wait()
        client = process.client()
        await asyncio.sleep(1)
        world.fault = RuntimeError("no storage")
        client.socket.request()
        await asyncio.sleep(20)
        assert client.kinds == ["snapshot"]  # not even a heartbeat: the board may be wrong
        world.fault = None
        await asyncio.sleep(1.5)
        assert client.kinds == ["snapshot", "snapshot"]
        await process.hub.stop()

    leap.run(scenario())


def test_the_last_to_leave_closes_the_room(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await process.hub.ready.wait()
        one, two = process.client(), process.client()
        await asyncio.sleep(1)
        one.leave()
        assert process.hub.count(WORKSPACE) == 1
        assert process.publisher.wanted(WORKSPACE)
        two.leave()
        await asyncio.sleep(0)
        assert process.hub.rooms == {}
        assert not process.publisher.wanted(WORKSPACE)
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("live-room")]
        await process.hub.stop()

    leap.run(scenario())


def test_slow_snapshots_are_read_less_often_and_delay_no_client(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        world = World()
        process = Process(world)
        await process.hub.ready.wait()
        live = process.client()
        await asyncio.sleep(1)
        world.read_s = 0.1
        began = asyncio.get_running_loop().time()
        for number in range(300):
            process.client()
            process.decide(event(f"lock:{number}"))
            await asyncio.sleep(0.1)
        reads = [at for at in world.reads if at >= began]
        assert all(later - earlier >= 0.4 for earlier, later in pairwise(reads))
        assert len(reads) >= 40
        times = [at for at, message in live.received if message.get("events")]
        assert max(later - earlier for earlier, later in pairwise(times)) < 0.5
        await process.hub.stop()

    leap.run(scenario())
