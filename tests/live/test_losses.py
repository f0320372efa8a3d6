"""What is lost between processes is noticed and made up for with a snapshot; what crosses is put in order."""

import asyncio

import orjson

from coordination.authority.publisher import GROUP
from tests.live.world import WORKSPACE, LossyLayer, Process, World, event, started, stopped


def test_a_lost_message_is_noticed_at_the_next(leap: asyncio.Runner) -> None:
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


def test_what_one_process_decides_is_seen_in_the_other(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        here.voice._wanted = there.voice._wanted = None  # as over Redis
        client = here.client()
        await asyncio.sleep(1)
        there.decide(event("lock:there"))
        here.decide(event("lock:here"))
        await asyncio.sleep(0.3)
        assert client.kinds == ["snapshot", "events"]
        assert [told["resource"] for told in client.events] == ["lock:there", "lock:here"]
        await stopped(here, there)

    leap.run(scenario())


def test_events_that_cross_are_told_in_the_order_of_their_decisions(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        here.voice._wanted = there.voice._wanted = None
        client = here.client()
        await asyncio.sleep(1)
        layer.delays[there.voice.publisher] = 0.08
        there.decide(event("lock:a", "granted"))
        await asyncio.sleep(0.02)
        here.decide(event("lock:a", "released"))
        await asyncio.sleep(0.5)
        assert client.kinds == ["snapshot", "events"]
        assert [told["event"] for told in client.events] == ["granted", "released"]
        await stopped(here, there)

    leap.run(scenario())


def test_an_event_that_comes_too_late_to_be_put_in_order_is_a_snapshot(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        here.voice._wanted = there.voice._wanted = None
        client = here.client()
        await asyncio.sleep(1)
        layer.delays[there.voice.publisher] = 1.0
        there.decide(event("lock:a", "granted"))
        await asyncio.sleep(0.02)
        here.decide(event("lock:a", "released"))
        await asyncio.sleep(2)
        assert client.kinds == ["snapshot", "events", "snapshot"]
        await stopped(here, there)

    leap.run(scenario())


def test_a_process_that_falls_silent_may_have_died_with_something_to_tell(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        client = here.client()
        await asyncio.sleep(1)
        await there.hub.stop()
        world.truth.append("lock:untold")
        await asyncio.sleep(14)
        assert client.kinds.count("snapshot") == 2
        assert client.messages[-1]["type"] == "events" or client.messages[-1]["holders"] == ["lock:untold"]
        assert not here.hub.several()
        await stopped(here)

    leap.run(scenario())


def test_a_layer_that_goes_and_returns(leap: asyncio.Runner) -> None:
    """The board says so, is right within seconds all the same, and goes on by itself."""

    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.fault = ConnectionError("Redis is away")
        layer.groups.clear()
        process.decide(event("lock:untold"))
        await asyncio.sleep(21)
        during = client.messages[1:]
        assert len(during) >= 3
        assert {message["type"] for message in during if message.get("delayed")} == {"snapshot"}
        assert during[-1]["delayed"] is True
        assert during[-1]["holders"] == ["lock:untold"]
        layer.fault = None
        await asyncio.sleep(5)
        back = client.messages[len(during) + 1 :]
        assert back[0]["type"] == "snapshot"
        assert "delayed" not in back[0]
        process.decide(event("lock:told"))
        await asyncio.sleep(0.3)
        assert client.events[-1]["resource"] == "lock:told"
        assert [message["seq"] for message in client.messages] == list(range(1, len(client.messages) + 1))
        await stopped(process)

    leap.run(scenario())


def test_a_place_in_the_group_that_was_lost_is_taken_again(leap: asyncio.Runner) -> None:
    """Places lapse after a day; a Redis that restarts has forgotten them."""

    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.groups.clear()
        process.decide(event("lock:unheard"))
        await asyncio.sleep(5)
        assert client.messages[-1]["holders"] == ["lock:unheard"]
        process.decide(event("lock:heard"))
        await asyncio.sleep(0.3)
        assert client.events[-1]["resource"] == "lock:heard"
        await stopped(process)

    leap.run(scenario())


def test_a_board_that_was_delayed_is_told_that_it_is_not(leap: asyncio.Runner) -> None:
    """Even if nothing has happened meanwhile."""

    async def scenario() -> None:
        layer = LossyLayer()
        process = Process(World(), layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        layer.fault = ConnectionError("Redis is away")
        await asyncio.sleep(12)
        assert client.messages[-1]["delayed"] is True
        told = len(client.messages)
        process.hub.rooms[WORKSPACE].receive("another", [event()])
        await asyncio.sleep(0.5)
        assert len(client.messages) == told  # an events message would say that the board is right
        layer.fault = None
        await asyncio.sleep(4)
        last = [message for message in client.messages if message["type"] == "snapshot"][-1]
        assert "delayed" not in last
        await stopped(process)

    leap.run(scenario())


def test_a_message_that_comes_twice_is_told_once(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        process.decide(event("lock:a"))
        await asyncio.sleep(1)
        again = {"type": "live.events", "publisher": process.voice.publisher, "number": process.voice.number}
        await layer.group_send(GROUP, {**again, "batches": {WORKSPACE: orjson.dumps([event("lock:a")])}})
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "events"]
        assert len(client.events) == 1
        await layer.group_send(GROUP, {"type": "live.nonsense"})
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "events", "snapshot"]
        await stopped(process)

    leap.run(scenario())


def test_the_box_of_what_is_to_be_told_is_bounded(leap: asyncio.Runner) -> None:
    """With nobody to empty it, and what was dropped is noticed when somebody does."""

    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        process = Process(world, layer)
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        voice = process.voice
        voice._wanted = None
        voice.publish("ws_busy", [event()] * 501)
        assert voice._held["ws_busy"] is None
        for number in range(200):
            voice.publish(f"ws_{number}", [event()] * 400)
        assert voice._count + len(voice._held) <= 20_000
        process.decide(event("lock:a"))
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "snapshot"]
        await stopped(process)

    leap.run(scenario())
