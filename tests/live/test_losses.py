"""A message that is lost between processes leads to a snapshot. Messages that cross are put in order."""

import asyncio

import orjson

from coordination.authority.publisher import GROUP
from tests.live.world import WORKSPACE, LossyLayer, Process, World, event, started, stopped


def test_a_lost_message_is_noticed_at_the_next_message(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer = LossyLayer()
        process = Process(World(), layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.lose = 1
        process.decide(event("lock:lost"))
        await asyncio.sleep(0.3)
        assert client.kinds == ["snapshot"]
        process.decide(event("lock:next"))
        await asyncio.sleep(0.3)
        assert client.kinds == ["snapshot", "snapshot"]
        assert client.messages[1]["holders"] == ["lock:lost", "lock:next"]
        await stopped(process)

    leap.run(scenario())


def test_a_lost_last_message_is_noticed_at_the_next_beat(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer = LossyLayer()
        process = Process(World(), layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.lose = 1
        process.decide(event("lock:lost"))
        await asyncio.sleep(2.5)
        assert client.messages[-1]["holders"] == ["lock:lost"]
        await stopped(process)

    leap.run(scenario())


def test_clients_of_one_process_receive_decisions_of_the_other(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        here.publisher._wanted = there.publisher._wanted = None  # as over Redis
        client = here.client()
        await asyncio.sleep(1)
        there.decide(event("lock:there"))
        here.decide(event("lock:here"))
        await asyncio.sleep(0.3)
        assert client.kinds == ["snapshot", "events"]
        assert [item["resource"] for item in client.events] == ["lock:there", "lock:here"]
        await stopped(here, there)

    leap.run(scenario())


def test_events_that_cross_are_sent_in_the_order_of_their_decisions(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        here.publisher._wanted = there.publisher._wanted = None
        client = here.client()
        await asyncio.sleep(1)
        layer.delays[there.publisher.publisher] = 0.08
        there.decide(event("lock:a", "granted"))
        await asyncio.sleep(0.02)
        here.decide(event("lock:a", "released"))
        await asyncio.sleep(0.5)
        assert client.kinds == ["snapshot", "events"]
        assert [item["event"] for item in client.events] == ["granted", "released"]
        await stopped(here, there)

    leap.run(scenario())


def test_an_event_that_is_too_late_for_its_order_leads_to_a_snapshot(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        here.publisher._wanted = there.publisher._wanted = None
        client = here.client()
        await asyncio.sleep(1)
        layer.delays[there.publisher.publisher] = 1.0
        there.decide(event("lock:a", "granted"))
        await asyncio.sleep(0.02)
        here.decide(event("lock:a", "released"))
        await asyncio.sleep(2)
        assert client.kinds == ["snapshot", "events", "snapshot"]
        await stopped(here, there)

    leap.run(scenario())


def test_a_process_that_falls_silent_leads_to_a_snapshot(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        client = here.client()
        await asyncio.sleep(1)
        await there.hub.stop()
        world.truth.append("lock:unpublished")
        await asyncio.sleep(14)
        assert client.kinds.count("snapshot") == 2
        assert client.messages[-1]["type"] == "events" or client.messages[-1]["holders"] == [
            "lock:unpublished"
        ]
        assert not here.hub.several()
        await stopped(here)

    leap.run(scenario())


def test_a_channel_layer_that_fails_and_returns(leap: asyncio.Runner) -> None:
    """Meanwhile the board is marked as delayed, but is right within seconds. Afterwards events come again."""

    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.fault = ConnectionError("Redis is away")
        layer.groups.clear()
        process.decide(event("lock:unpublished"))
        await asyncio.sleep(21)
        during = client.messages[1:]
        assert len(during) >= 3
        assert {message["type"] for message in during if message.get("delayed")} == {"snapshot"}
        assert during[-1]["delayed"] is True
        assert during[-1]["holders"] == ["lock:unpublished"]
        layer.fault = None
        await asyncio.sleep(5)
        back = client.messages[len(during) + 1 :]
        assert back[0]["type"] == "snapshot"
        assert "delayed" not in back[0]
        process.decide(event("lock:after"))
        await asyncio.sleep(0.3)
        assert client.events[-1]["resource"] == "lock:after"
        assert [message["seq"] for message in client.messages] == list(range(1, len(client.messages) + 1))
        await stopped(process)

    leap.run(scenario())


def test_a_hub_joins_the_group_again(leap: asyncio.Runner) -> None:
    """Redis forgets a channel of a group after a day, and when it restarts."""

    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.groups.clear()
        process.decide(event("lock:missed"))
        await asyncio.sleep(5)
        assert client.messages[-1]["holders"] == ["lock:missed"]
        process.decide(event("lock:after"))
        await asyncio.sleep(0.3)
        assert client.events[-1]["resource"] == "lock:after"
        await stopped(process)

    leap.run(scenario())


def test_a_delayed_board_receives_a_snapshot_when_the_delay_ends(leap: asyncio.Runner) -> None:
    """It is so even if there were no events meanwhile."""

    async def scenario() -> None:
        layer = LossyLayer()
        process = Process(World(), layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.fault = ConnectionError("Redis is away")
        await asyncio.sleep(12)
        assert client.messages[-1]["delayed"] is True
        count = len(client.messages)
        process.hub.rooms[WORKSPACE].receive("another", [event()])
        await asyncio.sleep(0.5)
        assert len(client.messages) == count  # an events message would mean that the board is right
        layer.fault = None
        await asyncio.sleep(4)
        last = [message for message in client.messages if message["type"] == "snapshot"][-1]
        assert "delayed" not in last
        await stopped(process)

    leap.run(scenario())


def test_a_message_that_comes_twice_is_sent_once(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        process.decide(event("lock:a"))
        await asyncio.sleep(1)
        again = {
            "type": "live.events",
            "publisher": process.publisher.publisher,
            "number": process.publisher.number,
        }
        await layer.group_send(GROUP, {**again, "batches": {WORKSPACE: orjson.dumps([event("lock:a")])}})
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "events"]
        assert len(client.events) == 1
        await layer.group_send(GROUP, {"type": "live.nonsense"})
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "events", "snapshot"]
        await stopped(process)

    leap.run(scenario())


def test_the_number_of_unpublished_events_is_bounded(leap: asyncio.Runner) -> None:
    """It is bounded while no hub empties it. When a hub empties it, dropped events lead to a snapshot."""

    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        publisher = process.publisher
        publisher._wanted = None
        publisher.publish("ws_busy", [event()] * 501)
        assert publisher._held["ws_busy"] is None
        for number in range(200):
            publisher.publish(f"ws_{number}", [event()] * 400)
        assert publisher._count + len(publisher._held) <= 20_000
        process.decide(event("lock:a"))
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "snapshot"]
        await stopped(process)

    leap.run(scenario())
