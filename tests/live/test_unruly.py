"""Clients that send odd messages or too many, or do not read, and what is logged about clients."""

import asyncio
import logging
from typing import Any

import pytest
from channels.exceptions import StopConsumer
from django.conf import settings

from coordination.live import base_consumer
from coordination.live import hub as hubs
from intramedial.workspaces.models import Trial, Workspace
from tests.live.browser import (
    PATIENCE_S,
    TRIAL_PATH,
    acquire,
    bearer,
    closing,
    next_events,
    page,
    refusal,
    socket,
    ticket_of,
    watching,
)

pytestmark = pytest.mark.usefixtures("authority")


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "nonsense",
        "{",
        "[]",
        "null",
        "42",
        '"resync"',
        "[" * 5000,
        '{"type": null}',
        '{"type": ["resync"]}',
        '{"type": "snapshot"}',
        '{"type": "resync", "type": "other"}',
        '{"TYPE": "resync"}',
        "NaN",
        "\ud800",
        "\x00",
        b"\xff\xfe",
        b'{"type": "resync"}',
    ],
)
async def test_a_message_that_is_not_understood_is_ignored(at: str, api_key: str, frame: str | bytes) -> None:
    async with watching(at, bearer(api_key)) as client:
        kind = "text" if isinstance(frame, str) else "bytes"
        await client.send_input({"type": "websocket.receive", kind: frame})
        assert await client.receive_nothing(0.05)
        await client.send_json_to({"type": "resync", "and": "more"})
        assert (await client.receive_json_from(timeout=PATIENCE_S))["type"] == "snapshot"


async def test_a_client_that_sends_too_much_is_closed(at: str, api_key: str) -> None:
    async with watching(at, bearer(api_key)) as other, watching(at, bearer(api_key)) as client:
        for _ in range(200):
            await client.send_to(text_data='{"type": "resync"}')
        assert await closing(client) == (4429, "rate_limited")
        await other.send_json_to({"type": "resync"})
        assert (await other.receive_json_from(timeout=PATIENCE_S))["type"] == "snapshot"


async def test_a_frame_over_the_limit_closes_the_socket(at: str, api_key: str) -> None:
    for frame in ("x" * (settings.SOCKET_FRAME + 1), "ñ" * (settings.SOCKET_FRAME // 2 + 1)):
        async with watching(at, bearer(api_key)) as client:
            await client.send_to(text_data=frame)
            assert await closing(client) == (1009, "too_large")
    async with watching(at, bearer(api_key)) as client:
        await client.send_to(text_data="x" * settings.SOCKET_FRAME)
        assert await client.receive_nothing(0.05)


async def test_a_client_that_does_not_read_is_dropped(
    workspace: Workspace, at: str, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_consumer, "READ_WITHIN_S", 0.2)
    monkeypatch.setattr(base_consumer, "CLOSE_WITHIN_S", 0.2)
    stuck = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if not connected:
            connected.append(True)
            return {"type": "websocket.connect"}
        await asyncio.Event().wait()
        raise StopConsumer

    async def send(message: dict[str, Any]) -> None:
        if message["type"] != "websocket.accept":
            stuck.set()
            await asyncio.Event().wait()

    connected: list[bool] = []
    scope = socket(at, bearer(api_key)).scope
    async with watching(at, bearer(api_key)) as other:
        from intramedial import asgi

        blocked = asyncio.create_task(asgi.sockets(scope, receive, send))
        await asyncio.wait_for(stuck.wait(), 5)
        assert hubs.hub().count(workspace.public_id) == 2
        await asyncio.wait_for(blocked, 5)
        assert hubs.hub().count(workspace.public_id) == 1
        await acquire(workspace.public_id, "lock:a")
        assert (await next_events(other))["events"]


async def test_logs_have_what_happened_and_no_secret(
    workspace: Workspace, at: str, api_key: str, session: str, trial: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    protocols = await ticket_of(trial)
    for path, headers, offered in (
        (at, bearer(api_key), []),
        (at, page(session), []),
        (TRIAL_PATH, [], protocols),
    ):
        async with watching(path, headers, offered):
            pass
    await refusal(at, bearer("imk_nonsense"))
    records = [record for record in caplog.records if record.name == "intramedial.live"]
    logged = [(record.message, vars(record).get("watcher")) for record in records]
    assert logged == [
        *(("live socket opened", "program"), ("live socket closed", "program")),
        *(("live socket opened", "member"), ("live socket closed", "member")),
        *(("live socket opened", "visitor"), ("live socket closed", "visitor")),
        ("live socket refused", None),
    ]
    closed = vars(records[1])
    assert (closed["workspace"], closed["code"], closed["messages"]) == (workspace.public_id, 1000, 1)
    everything = str([vars(record) for record in caplog.records])
    for secret in (api_key, session, protocols[1], "imk_nonsense"):
        assert secret not in everything
