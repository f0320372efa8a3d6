"""Live sockets with the real authority behind them: what is told, who is let in, who has to go."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.exceptions import StopConsumer
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from coordination import authority, consumers, queries
from coordination.live import hub as hubs
from intramedial.workspaces import provision, tickets
from intramedial.workspaces.models import ApiKey, Membership, Ticket, Trial, Workspace
from tests.live.browser import (
    ALICE,
    BOB,
    acquire,
    bearer,
    closing,
    logged_in,
    new_user,
    next_events,
    opened,
    page,
    refusal,
    release,
    socket,
)

pytestmark = pytest.mark.usefixtures("door")
TRIAL_PATH = "/ws/prueba/"


RECHECK_S, RESYNC_EVERY_S = hubs.RECHECK_S, consumers.RESYNC_EVERY_S


@pytest.fixture
async def door(migrated_databases: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The authority, and what tells and hears its decisions; with less patience, so that tests need none."""
    monkeypatch.setattr(hubs, "RECHECK_S", 0.05)
    monkeypatch.setattr(consumers, "RESYNC_EVERY_S", 0.1)
    await asyncio.to_thread(authority.start)
    consumers.start()
    yield
    await asyncio.to_thread(authority.stop)
    await consumers.stop()
    await asyncio.to_thread(queries.stop)
    await asyncio.to_thread(tickets.threads.close)


@pytest.fixture
def at(workspace: Workspace) -> str:
    """The address of the workspace's board."""
    return f"/ws/espacios/{workspace.public_id}/"


@pytest.fixture
async def member(workspace: Workspace) -> Any:
    """A member of the workspace."""
    user = await new_user(f"{workspace.public_id}@example.com")
    await Membership.objects.acreate(workspace=workspace, user=user, role="viewer")
    return user


@pytest.fixture
async def session(member: Any) -> str:
    """A session of the member's."""
    return await logged_in(member)


@pytest.fixture
async def trial(workspace: Workspace) -> Trial:
    """A trial in force, for which the workspace is."""
    ends = timezone.now() + timedelta(days=7)
    return await Trial.objects.acreate(
        did=f"did:example:{workspace.public_id}", workspace=workspace, calls_limit=35, expires_at=ends
    )


async def ticket_of(trial: Trial) -> list[str]:
    """The subprotocols that a page with a fresh ticket offers."""
    assert trial.workspace is not None
    secret, _ = await sync_to_async(tickets.issue)(trial.workspace.public_id)
    return ["intramedial", f"ticket.{secret}"]


# --- what is told --------------------------------------------------------------------------------


async def test_a_program_sees_what_is_decided(workspace: Workspace, at: str, api_key: str) -> None:
    await acquire(workspace.public_id, "lock:before")
    async with opened(at, bearer(api_key)) as client:
        snapshot = await client.receive_json_from()
        assert (snapshot["type"], snapshot["seq"]) == ("snapshot", 1)
        assert set(snapshot) == {
            *("type", "seq", "serverTime", "holders", "queue", "deadlocks", "trust", "counters")
        }
        (held,) = snapshot["holders"]
        assert (held["resource"], held["holder"], held["fencingToken"]) == ("lock:before", ALICE, 1)
        assert "lse_" not in json.dumps(snapshot)
        picture = await queries.picture(workspace.public_id)
        assert snapshot["holders"] == picture["holders"]

        granted = await acquire(workspace.public_id, "lock:a")
        message = await next_events(client)
        (told,) = message["events"]
        assert message["seq"] == 2
        assert (told["event"], told["resource"], told["actorDid"]) == ("granted", "lock:a", ALICE)
        assert told["fencingToken"] == granted.lease.token
        assert "lse_" not in json.dumps(message)

        await acquire(workspace.public_id, "lock:a", BOB)
        await release(workspace.public_id, "lock:a")
        kinds: list[str] = []
        while "offered" not in kinds:
            message = await next_events(client)
            kinds += [told["event"] for told in message["events"]]
        assert kinds == ["queued", "released", "offered"]


async def test_a_deadlock_is_told_and_so_is_its_end(workspace: Workspace, at: str, api_key: str) -> None:
    name = workspace.public_id
    async with opened(at, bearer(api_key)) as client:
        await client.receive_json_from()
        await acquire(name, "lock:a", ALICE)
        await acquire(name, "lock:b", BOB)
        await acquire(name, "lock:b", ALICE)
        await acquire(name, "lock:a", BOB)
        message = await next_events(client)
        while "deadlock" not in [told["event"] for told in message["events"]]:
            message = await next_events(client)
        (pair,) = message["deadlocks"]
        assert pair == (await queries.picture(name))["deadlocks"][0]
        assert (pair["agents"], pair["resources"]) == ([BOB, ALICE], ["lock:a", "lock:b"])
        await release(name, "lock:a", ALICE)
        while message.get("deadlocks") != []:
            message = await client.receive_json_from(timeout=5)
        assert (await queries.picture(name))["deadlocks"] == []


async def test_a_member_sees_the_board(at: str, session: str) -> None:
    async with opened(at, page(session)) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"


async def test_a_page_served_by_another_name_of_this_machine(at: str, session: str) -> None:
    headers = [(b"host", b"localhost:8000"), *page(session, "http://localhost:8000")[1:]]
    async with opened(at, headers) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"


async def test_a_visitor_sees_the_trial(trial: Trial, workspace: Workspace) -> None:
    client = socket(TRIAL_PATH, page(None), await ticket_of(trial))
    assert await client.connect() == (True, "intramedial")
    assert (await client.receive_json_from())["type"] == "snapshot"
    await acquire(workspace.public_id, "lock:a")
    assert (await next_events(client))["events"][0]["event"] == "granted"
    await client.disconnect()


async def test_a_program_with_a_ticket_has_no_origin(trial: Trial) -> None:
    async with opened(TRIAL_PATH, [], await ticket_of(trial)) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"


async def test_resync_is_answered_once_a_second(
    at: str, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert RESYNC_EVERY_S == 1
    monkeypatch.setattr(consumers, "RESYNC_EVERY_S", 0.4)
    async with opened(at, bearer(api_key)) as client:
        await client.receive_json_from()
        began = asyncio.get_running_loop().time()
        for _ in range(5):
            await client.send_json_to({"type": "resync"})
        again = await client.receive_json_from(timeout=5)
        assert (again["type"], again["seq"]) == ("snapshot", 2)
        assert asyncio.get_running_loop().time() - began >= 0.3
        assert await client.receive_nothing(0.6)
        await client.send_json_to({"type": "resync"})
        assert (await client.receive_json_from(timeout=5))["seq"] == 3


# --- who is let in -------------------------------------------------------------------------------

UNAUTHENTICATED, NOT_FOUND = (4401, "unauthenticated"), (4404, "not_found")


async def test_without_credentials(at: str) -> None:
    assert await refusal(at, page(None)) == UNAUTHENTICATED
    assert await refusal(at, page("no-such-session")) == UNAUTHENTICATED
    assert await refusal(at, bearer("")) == UNAUTHENTICATED
    assert await refusal(at, bearer("imk_nonsense")) == UNAUTHENTICATED
    assert await refusal(at, [(b"authorization", b"Basic YTpi")]) == UNAUTHENTICATED


async def test_keys_not_in_force(workspace: Workspace, at: str, api_key: str) -> None:
    expired = await sync_to_async(provision.create_api_key)(
        workspace, expires_at=timezone.now() - timedelta(seconds=1)
    )
    revoked = await sync_to_async(provision.create_api_key)(workspace)
    await sync_to_async(provision.revoke_api_key)(revoked.prefix)
    assert await refusal(at, bearer(expired.secret)) == UNAUTHENTICATED
    assert await refusal(at, bearer(revoked.secret)) == UNAUTHENTICATED


async def test_a_foreign_workspace_is_as_unknown(api_key: str, session: str) -> None:
    foreign = await sync_to_async(provision.create_workspace)("foreign")
    for name in (foreign.public_id, "ws_unknown", "ws_%00", "..", "x" * 2000, "ws_😀"):
        assert await refusal(f"/ws/espacios/{name}/", bearer(api_key)) == NOT_FOUND
        assert await refusal(f"/ws/espacios/{name}/", page(session)) == NOT_FOUND


async def test_a_cookie_counts_for_nothing_beside_a_key(at: str, session: str) -> None:
    assert await refusal(at, [*page(session), *bearer("imk_nonsense")]) == UNAUTHENTICATED


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "https://evil.example",
        "http://127.0.0.1:8001",
        "http://127.0.0.1",
        "http://127.0.0.1:8000.evil.example",
        "http://evil.example/http://127.0.0.1:8000",
    ],
)
async def test_a_session_from_another_sites_page_is_no_socket(
    at: str, session: str, origin: str | None
) -> None:
    assert await refusal(at, page(session, origin)) is None


async def test_a_name_rebound_to_this_machine_is_another_site(at: str, session: str) -> None:
    headers = [(b"host", b"evil.example:8000"), *page(session, "http://evil.example:8000")[1:]]
    assert await refusal(at, headers) is None


async def test_a_ticket_is_good_once(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    async with opened(TRIAL_PATH, page(None), protocols) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"
    assert await refusal(TRIAL_PATH, page(None), protocols) == UNAUTHENTICATED


async def test_a_ticket_of_two_sockets_at_once_is_one_sockets(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    clients = [socket(TRIAL_PATH, page(None), protocols) for _ in range(5)]
    await asyncio.gather(*(client.connect() for client in clients))
    first = [await client.receive_output(5) for client in clients]
    assert [message["type"] for message in first].count("websocket.send") == 1
    await asyncio.gather(*(client.disconnect() for client in clients), return_exceptions=True)


@pytest.mark.parametrize("protocols", [[], ["intramedial"], ["ticket."], ["ticket.x"], ["ticket.ñ\udcff"]])
async def test_no_ticket(protocols: list[str]) -> None:
    assert await refusal(TRIAL_PATH, page(None), protocols) == UNAUTHENTICATED


async def test_a_ticket_that_comes_late_or_from_another_site(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    assert await refusal(TRIAL_PATH, page(None, "https://evil.example"), protocols) is None
    await Ticket.objects.aupdate(expires_at=timezone.now())
    assert await refusal(TRIAL_PATH, page(None), protocols) == UNAUTHENTICATED


async def test_a_trial_that_is_over(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    await Trial.objects.filter(pk=trial.pk).aupdate(expires_at=timezone.now())
    assert await refusal(TRIAL_PATH, page(None), protocols) == (4401, "trial_expired")


async def test_limits(at: str, api_key: str, trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WORKSPACE_SOCKETS", 2)
    async with opened(at, bearer(api_key)):
        async with opened(at, bearer(api_key)):
            assert await refusal(at, bearer(api_key)) == (4429, "rate_limited")
        async with opened(at, bearer(api_key)) as client:
            assert (await client.receive_json_from())["type"] == "snapshot"
    protocols = [await ticket_of(trial) for _ in range(4)]
    async with (
        opened(TRIAL_PATH, [], protocols[0]),
        opened(TRIAL_PATH, [], protocols[1]),
        opened(TRIAL_PATH, [], protocols[2]),
    ):
        assert await refusal(TRIAL_PATH, [], protocols[3]) == (4429, "rate_limited")


async def test_no_such_address(at: str) -> None:
    assert await refusal("/ws/", page(None)) is None
    assert await refusal(at + "more/", page(None)) is None


# --- who has to go -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost", "how"),
    [
        ("revoked", UNAUTHENTICATED),
        ("expired", UNAUTHENTICATED),
        ("deleted", UNAUTHENTICATED),
    ],
)
async def test_a_program_that_loses_its_key(
    workspace: Workspace, at: str, api_key: str, lost: str, how: tuple[int, str]
) -> None:
    key = ApiKey.objects.filter(workspace=workspace)
    async with opened(at, bearer(api_key)) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"
        match lost:
            case "revoked":
                await key.aupdate(revoked_at=timezone.now())
            case "expired":
                await key.aupdate(expires_at=timezone.now())
            case "deleted":
                await workspace.adelete()
        assert await closing(client) == how


@pytest.mark.parametrize(
    ("lost", "how"),
    [
        ("membership", (4403, "forbidden")),
        ("session", UNAUTHENTICATED),
        ("expired", UNAUTHENTICATED),
        ("password", UNAUTHENTICATED),
        ("account", UNAUTHENTICATED),
    ],
)
async def test_a_member_that_loses_the_right(
    at: str, member: Any, session: str, lost: str, how: tuple[int, str]
) -> None:
    async with opened(at, page(session)) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"
        match lost:
            case "membership":
                await Membership.objects.filter(user=member).adelete()
            case "session":
                await Session.objects.filter(session_key=session).adelete()
            case "expired":
                await Session.objects.filter(session_key=session).aupdate(expire_date=timezone.now())
            case "password":
                await sync_to_async(member.set_password)("another")
                await member.asave()
            case "account":
                member.is_active = False
                await member.asave()
        assert await closing(client) == how


async def test_a_trial_that_ends(trial: Trial) -> None:
    async with opened(TRIAL_PATH, [], await ticket_of(trial)) as client:
        assert (await client.receive_json_from())["type"] == "snapshot"
        await Trial.objects.filter(pk=trial.pk).aupdate(expires_at=timezone.now())
        assert await closing(client) == (4401, "trial_expired")


async def test_others_stay(workspace: Workspace, at: str, api_key: str, session: str) -> None:
    other = await sync_to_async(provision.create_api_key)(workspace)
    async with (
        opened(at, bearer(api_key)) as kept,
        opened(at, page(session)) as member,
        opened(at, bearer(other.secret)) as client,
    ):
        await client.receive_json_from()
        await sync_to_async(provision.revoke_api_key)(other.prefix)
        assert await closing(client) == UNAUTHENTICATED
        await acquire(workspace.public_id, "lock:a")
        for still in (kept, member):
            assert (await still.receive_json_from())["type"] == "snapshot"
            assert (await next_events(still))["events"][0]["resource"] == "lock:a"


async def test_the_recheck_is_fast_enough() -> None:
    """A key is believed for up to a second; a socket is closed within five of losing its own."""
    assert RECHECK_S < hubs.CONFIRM_S < 5


# --- what clients say ----------------------------------------------------------------------------


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
async def test_what_is_not_understood_is_overheard(at: str, api_key: str, frame: str | bytes) -> None:
    async with opened(at, bearer(api_key)) as client:
        await client.receive_json_from()
        kind = "text" if isinstance(frame, str) else "bytes"
        await client.send_input({"type": "websocket.receive", kind: frame})
        assert await client.receive_nothing(0.05)
        await client.send_json_to({"type": "resync", "and": "more"})
        assert (await client.receive_json_from(timeout=5))["type"] == "snapshot"


async def test_a_flood(at: str, api_key: str) -> None:
    async with opened(at, bearer(api_key)) as other, opened(at, bearer(api_key)) as client:
        for _ in range(200):
            await client.send_to(text_data='{"type": "resync"}')
        assert await closing(client) == (4429, "rate_limited")
        assert (await other.receive_json_from())["type"] == "snapshot"


async def test_a_huge_frame(at: str, api_key: str) -> None:
    for frame in ("x" * (settings.SOCKET_FRAME + 1), "ñ" * (settings.SOCKET_FRAME // 2 + 1)):
        async with opened(at, bearer(api_key)) as client:
            await client.receive_json_from()
            await client.send_to(text_data=frame)
            assert await closing(client) == (1009, "too_large")
    async with opened(at, bearer(api_key)) as client:
        await client.receive_json_from()
        await client.send_to(text_data="x" * settings.SOCKET_FRAME)
        assert await client.receive_nothing(0.05)


async def test_a_client_that_does_not_read_is_dropped(
    workspace: Workspace, at: str, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "READ_WITHIN_S", 0.2)
    monkeypatch.setattr(consumers, "CLOSE_WITHIN_S", 0.2)
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
    async with opened(at, bearer(api_key)) as other:
        from intramedial import asgi

        deaf = asyncio.create_task(asgi.sockets(scope, receive, send))
        await asyncio.wait_for(stuck.wait(), 5)
        assert hubs.hub().count(workspace.public_id) == 2
        await asyncio.wait_for(deaf, 5)
        assert hubs.hub().count(workspace.public_id) == 1
        assert (await other.receive_json_from())["type"] == "snapshot"
        await acquire(workspace.public_id, "lock:a")
        assert (await next_events(other))["events"]


async def test_logs_say_what_happened_and_no_secret(
    workspace: Workspace, at: str, api_key: str, session: str, trial: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    protocols = await ticket_of(trial)
    for path, headers, offered in (
        (at, bearer(api_key), []),
        (at, page(session), []),
        (TRIAL_PATH, [], protocols),
    ):
        async with opened(path, headers, offered) as client:
            await client.receive_json_from()
    await refusal(at, bearer("imk_nonsense"))
    records = [record for record in caplog.records if record.name == "intramedial.live"]
    said = [(record.message, vars(record).get("watcher")) for record in records]
    assert said == [
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
