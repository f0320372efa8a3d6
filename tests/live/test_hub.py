"""The publisher and the hub: publishing never fails, sockets are counted, rights are checked again, events
are put in order."""

import asyncio
from typing import Any

from coordination.live.arrivals import Arrivals
from intramedial.accounts.watching import Visitor
from intramedial.http.formats import rfc3339_of_ms
from intramedial.http.problems import Problem
from tests.live.world import EPOCH_MS, WORKSPACE, LossyLayer, Process, World, event, started, stopped


def test_publishing_never_raises(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await started(process)
        client = process.client()
        await asyncio.sleep(1)
        process.publisher.publish(WORKSPACE, [event(odd=object())])
        process.publisher.publish(WORKSPACE, None)  # not a list
        await asyncio.sleep(1)
        assert client.kinds == ["snapshot", "snapshot"]
        await process.hub.stop()
        process.publisher.publish(WORKSPACE, [event()])

    leap.run(scenario())


def test_sockets_are_counted_across_processes(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        layer, world = LossyLayer(), World()
        here, there = Process(world, layer), Process(world, layer)
        await started(here, there)
        clients = [here.client(), here.client(), there.client()]
        await asyncio.sleep(0.1)  # before the next beat

        def admits(process: Process, limit: int) -> bool:
            socket = process.hub.join(Visitor(WORKSPACE), limit, lambda problem: None)
            if socket is not None:
                process.hub.leave(socket)
            return socket is not None

        assert (admits(here, 3), admits(there, 3)) == (False, False)
        assert (admits(here, 4), admits(there, 4)) == (True, True)
        clients[0].leave()
        await asyncio.sleep(0.1)
        assert (admits(here, 3), admits(there, 3)) == (True, True)
        clients[1].leave()
        clients[2].leave()
        await asyncio.sleep(0.1)
        assert (admits(here, 1), admits(there, 1)) == (True, True)
        await stopped(here, there)

    leap.run(scenario())


def test_a_client_that_may_no_longer_watch_is_ended_within_five_seconds(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        await started(process)
        client, other = process.client(), process.client()
        other.hub._watchers[other.socket] = Visitor("ws_other"), lambda problem: other.ended.append("other")
        process.ended = {Visitor(WORKSPACE): Problem("trial_expired", "over")}
        await asyncio.sleep(5)
        assert client.ended[0] == "trial_expired"
        assert other.ended == []
        other.hub._watchers[other.socket] = Visitor(WORKSPACE), lambda problem: None
        await stopped(process)

    leap.run(scenario())


def test_clients_are_ended_when_their_rights_cannot_be_checked(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())

        async def hanging(watchers: Any) -> Any:
            await asyncio.sleep(3600)

        await started(process)
        client = process.client()
        process.hub._check = hanging
        await asyncio.sleep(5)
        assert client.ended == ["authority_unavailable"]
        await stopped(process)

    leap.run(scenario())


def test_a_check_that_fails_once_ends_no_client(leap: asyncio.Runner) -> None:
    async def scenario() -> None:
        process = Process(World())
        failures = 1

        async def check(watchers: Any) -> Any:
            nonlocal failures
            failures -= 1
            if failures >= 0:
                raise OSError("away for a moment")
            return {}

        await started(process)
        client = process.client()
        process.hub._check = check
        await asyncio.sleep(20)
        assert client.ended == []
        await stopped(process)

    leap.run(scenario())


def at(ms: int) -> str:
    return rfc3339_of_ms(EPOCH_MS + ms)


def test_order_is_uncertain_only_where_it_matters() -> None:
    arrivals = Arrivals()
    arrivals.add("p", [event("r1", at=at(5)), event("r2", at=at(6))])
    assert arrivals.take()[1]
    arrivals.add("q", [event("r3", at=at(4))])  # late, but no other publisher has an event of this resource
    assert arrivals.take()[1]
    arrivals.add("q", [event("r1", at=at(5))])  # in the same millisecond as an event of another publisher
    assert not arrivals.take()[1]
    arrivals.add("q", [event("r2", at=at(3))])
    assert not arrivals.take()[1]
    arrivals.add("p", [event("r4", at=at(9), trust={"score": 50.5})])
    arrivals.add("q", [event("r5", at=at(8), trust={"score": 51.0})])  # of the same agent, but in time
    events, certain = arrivals.take()
    assert certain
    assert [one["resource"] for one in events] == ["r5", "r4"]
    arrivals.add("q", [event("r6", at=at(7), trust={"score": 50.0})])
    assert not arrivals.take()[1]
