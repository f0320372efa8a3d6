"""The messages that a live socket receives from the real authority."""

import asyncio
import json

import pytest

from coordination.live import base_consumer
from coordination.read import current
from intramedial.workspaces.models import Trial, Workspace
from tests.live.browser import (
    ALICE,
    BOB,
    PATIENCE_S,
    TRIAL_PATH,
    acquire,
    bearer,
    next_events,
    opened,
    page,
    release,
    socket,
    ticket_of,
    watching,
)

RESYNC_EVERY_S = base_consumer.RESYNC_EVERY_S

pytestmark = pytest.mark.usefixtures("authority")


async def test_a_program_receives_decisions(workspace: Workspace, at: str, api_key: str) -> None:
    await acquire(workspace.public_id, "lock:before")
    async with opened(at, bearer(api_key)) as client:
        snapshot = await client.receive_json_from(timeout=PATIENCE_S)
        assert (snapshot["type"], snapshot["seq"]) == ("snapshot", 1)
        assert set(snapshot) == {
            *("type", "seq", "serverTime", "holders", "queue", "deadlocks", "trust", "counters")
        }
        (held,) = snapshot["holders"]
        assert (held["resource"], held["holder"], held["fencingToken"]) == ("lock:before", ALICE, 1)
        assert "lse_" not in json.dumps(snapshot)
        picture = await current.picture(workspace.public_id)
        assert snapshot["holders"] == picture["holders"]

        granted = await acquire(workspace.public_id, "lock:a")
        message = await next_events(client)
        (event,) = message["events"]
        assert message["seq"] == 2
        assert (event["event"], event["resource"], event["actorDid"]) == ("granted", "lock:a", ALICE)
        assert event["fencingToken"] == granted.lease.token
        assert "lse_" not in json.dumps(message)

        await acquire(workspace.public_id, "lock:a", BOB)
        await release(workspace.public_id, "lock:a")
        kinds: list[str] = []
        while "offered" not in kinds:
            message = await next_events(client)
            kinds += [event["event"] for event in message["events"]]
        assert kinds == ["queued", "released", "offered"]


async def test_a_program_receives_a_deadlock_and_its_end(workspace: Workspace, at: str, api_key: str) -> None:
    name = workspace.public_id
    async with watching(at, bearer(api_key)) as client:
        await acquire(name, "lock:a", ALICE)
        await acquire(name, "lock:b", BOB)
        await acquire(name, "lock:b", ALICE)
        await acquire(name, "lock:a", BOB)
        message = await next_events(client)
        while "deadlock" not in [event["event"] for event in message["events"]]:
            message = await next_events(client)
        (pair,) = message["deadlocks"]
        assert pair == (await current.picture(name))["deadlocks"][0]
        assert (pair["agents"], pair["resources"]) == ([BOB, ALICE], ["lock:a", "lock:b"])
        await release(name, "lock:a", ALICE)
        while message.get("deadlocks") != []:
            message = await client.receive_json_from(timeout=PATIENCE_S)
        assert (await current.picture(name))["deadlocks"] == []


async def test_a_member_sees_the_board(at: str, session: str) -> None:
    async with watching(at, page(session)):
        pass


async def test_a_page_under_another_name_of_this_machine_is_admitted(at: str, session: str) -> None:
    headers = [(b"host", b"localhost:8000"), *page(session, "http://localhost:8000")[1:]]
    async with watching(at, headers):
        pass


async def test_a_visitor_sees_the_trial(trial: Trial, workspace: Workspace) -> None:
    client = socket(TRIAL_PATH, page(None), await ticket_of(trial))
    assert await client.connect(PATIENCE_S) == (True, "intramedial")
    assert (await client.receive_json_from(timeout=PATIENCE_S))["type"] == "snapshot"
    await acquire(workspace.public_id, "lock:a")
    assert (await next_events(client))["events"][0]["event"] == "granted"
    await client.disconnect(timeout=PATIENCE_S)


async def test_a_program_with_a_ticket_needs_no_origin(trial: Trial) -> None:
    async with watching(TRIAL_PATH, [], await ticket_of(trial)):
        pass


async def test_resync_is_answered_once_a_second(
    at: str, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert RESYNC_EVERY_S == 1
    monkeypatch.setattr(base_consumer, "RESYNC_EVERY_S", 0.4)
    async with watching(at, bearer(api_key)) as client:
        began = asyncio.get_running_loop().time()
        for _ in range(5):
            await client.send_json_to({"type": "resync"})
        again = await client.receive_json_from(timeout=PATIENCE_S)
        assert (again["type"], again["seq"]) == ("snapshot", 2)
        assert asyncio.get_running_loop().time() - began >= 0.3
        assert await client.receive_nothing(0.6)
        await client.send_json_to({"type": "resync"})
        assert (await client.receive_json_from(timeout=PATIENCE_S))["seq"] == 3


async def test_resyncs_that_are_due_at_once_are_answered(
    at: str, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are due at once when the client has waited for longer than the pause between two snapshots."""
    monkeypatch.setattr(base_consumer, "RESYNC_EVERY_S", 0)
    async with watching(at, bearer(api_key)) as client:
        for _ in range(2):
            for _ in range(3):
                await client.send_json_to({"type": "resync"})
            assert (await client.receive_json_from(timeout=PATIENCE_S))["type"] == "snapshot"
