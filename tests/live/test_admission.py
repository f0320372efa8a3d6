"""Which credentials may open a live socket, and which are refused."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from intramedial.workspaces import provision
from intramedial.workspaces.models import Ticket, Trial, Workspace
from tests.live.browser import (
    NOT_FOUND,
    PATIENCE_S,
    TRIAL_PATH,
    UNAUTHENTICATED,
    bearer,
    logged_in,
    page,
    refusal,
    socket,
    ticket_of,
    watching,
)

pytestmark = pytest.mark.usefixtures("authority")


async def test_missing_and_malformed_credentials_are_refused(at: str) -> None:
    assert await refusal(at, page(None)) == UNAUTHENTICATED
    assert await refusal(at, page("no-such-session")) == UNAUTHENTICATED
    assert await refusal(at, bearer("")) == UNAUTHENTICATED
    assert await refusal(at, bearer("imk_nonsense")) == UNAUTHENTICATED
    assert await refusal(at, [(b"authorization", b"Basic YTpi")]) == UNAUTHENTICATED


async def test_expired_and_revoked_keys_are_refused(workspace: Workspace, at: str, api_key: str) -> None:
    expired = await sync_to_async(provision.create_api_key)(
        workspace, expires_at=timezone.now() - timedelta(seconds=1)
    )
    revoked = await sync_to_async(provision.create_api_key)(workspace)
    await sync_to_async(provision.revoke_api_key)(revoked.prefix)
    assert await refusal(at, bearer(expired.secret)) == UNAUTHENTICATED
    assert await refusal(at, bearer(revoked.secret)) == UNAUTHENTICATED


FOREIGN = "https://evil.example"
LET_IN, NO_SOCKET = "let in", None
# The credentials of a handshake, and its outcomes: without an Origin, from our page, from another site.
OUTCOMES = {
    "nothing": (UNAUTHENTICATED, UNAUTHENTICATED, NO_SOCKET),
    "another cookie": (UNAUTHENTICATED, UNAUTHENTICATED, NO_SOCKET),
    "unknown session": (NO_SOCKET, UNAUTHENTICATED, NO_SOCKET),
    "ended session": (NO_SOCKET, UNAUTHENTICATED, NO_SOCKET),
    "session": (NO_SOCKET, LET_IN, NO_SOCKET),
    # No page can send a key, whatever the Origin is.
    "unknown key": (UNAUTHENTICATED, UNAUTHENTICATED, UNAUTHENTICATED),
    "expired key": (UNAUTHENTICATED, UNAUTHENTICATED, UNAUTHENTICATED),
    "key": (LET_IN, LET_IN, LET_IN),
    "key and unknown session": (LET_IN, LET_IN, LET_IN),
    "unknown key and session": (UNAUTHENTICATED, UNAUTHENTICATED, UNAUTHENTICATED),
}


@pytest.mark.parametrize("origin", [None, settings.BASE_URL, FOREIGN])
@pytest.mark.parametrize("bears", OUTCOMES)
async def test_every_credential_with_every_origin(
    workspace: Workspace, at: str, api_key: str, session: str, member: Any, bears: str, origin: str | None
) -> None:
    ended = await logged_in(member)
    await Session.objects.filter(session_key=ended).adelete()
    past = timezone.now() - timedelta(seconds=1)
    expired = await sync_to_async(provision.create_api_key)(workspace, expires_at=past)
    cookies = {"unknown session": "no-such-session", "ended session": ended, "session": session}
    keys = {"unknown key": "imk_nonsense", "expired key": expired.secret, "key": api_key}
    headers = page(None, origin)
    if bears == "another cookie":
        headers.append((b"cookie", b"language=es"))
    for part in bears.split(" and "):
        headers += page(cookies[part], None)[1:] if part in cookies else []
        headers += bearer(keys[part]) if part in keys else []
    expected = OUTCOMES[bears][(None, settings.BASE_URL, FOREIGN).index(origin)]
    if expected == LET_IN:
        async with watching(at, headers):
            pass
    else:
        assert await refusal(at, headers) == expected


async def test_a_foreign_workspace_is_refused_like_an_unknown_one(api_key: str, session: str) -> None:
    foreign = await sync_to_async(provision.create_workspace)("foreign")
    for name in (foreign.public_id, "ws_unknown", "ws_%00", "..", "x" * 2000, "ws_😀"):
        assert await refusal(f"/ws/espacios/{name}/", bearer(api_key)) == NOT_FOUND
        assert await refusal(f"/ws/espacios/{name}/", page(session)) == NOT_FOUND


async def test_a_cookie_is_ignored_beside_a_key(at: str, session: str) -> None:
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
async def test_a_session_from_another_sites_page_opens_no_socket(
    at: str, session: str, origin: str | None
) -> None:
    assert await refusal(at, page(session, origin)) is None


async def test_a_name_rebound_to_this_machine_is_another_site(at: str, session: str) -> None:
    headers = [(b"host", b"evil.example:8000"), *page(session, "http://evil.example:8000")[1:]]
    assert await refusal(at, headers) is None


async def test_a_ticket_opens_one_socket(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    async with watching(TRIAL_PATH, page(None), protocols):
        pass
    assert await refusal(TRIAL_PATH, page(None), protocols) == UNAUTHENTICATED


async def test_a_ticket_opens_one_of_several_sockets_at_once(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    clients = [socket(TRIAL_PATH, page(None), protocols) for _ in range(5)]
    await asyncio.gather(*(client.connect(PATIENCE_S) for client in clients))
    first = [await client.receive_output(PATIENCE_S) for client in clients]
    assert [message["type"] for message in first].count("websocket.send") == 1
    await asyncio.gather(
        *(client.disconnect(timeout=PATIENCE_S) for client in clients), return_exceptions=True
    )


@pytest.mark.parametrize("protocols", [[], ["intramedial"], ["ticket."], ["ticket.x"], ["ticket.ñ\udcff"]])
async def test_a_missing_or_malformed_ticket_is_refused(protocols: list[str]) -> None:
    assert await refusal(TRIAL_PATH, page(None), protocols) == UNAUTHENTICATED


async def test_a_late_ticket_and_one_from_another_site_are_refused(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    assert await refusal(TRIAL_PATH, page(None, "https://evil.example"), protocols) is None
    await Ticket.objects.aupdate(expires_at=timezone.now())
    assert await refusal(TRIAL_PATH, page(None), protocols) == UNAUTHENTICATED


async def test_an_ended_trial_is_refused(trial: Trial) -> None:
    protocols = await ticket_of(trial)
    await Trial.objects.filter(pk=trial.pk).aupdate(expires_at=timezone.now())
    assert await refusal(TRIAL_PATH, page(None), protocols) == (4401, "trial_expired")


async def test_a_workspace_has_a_limit_of_sockets(
    at: str, api_key: str, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "WORKSPACE_SOCKETS", 2)
    async with watching(at, bearer(api_key)):
        async with watching(at, bearer(api_key)):
            assert await refusal(at, bearer(api_key)) == (4429, "rate_limited")
        async with watching(at, bearer(api_key)):
            pass
    protocols = [await ticket_of(trial) for _ in range(4)]
    async with (
        watching(TRIAL_PATH, [], protocols[0]),
        watching(TRIAL_PATH, [], protocols[1]),
        watching(TRIAL_PATH, [], protocols[2]),
    ):
        assert await refusal(TRIAL_PATH, [], protocols[3]) == (4429, "rate_limited")


async def test_an_unknown_path_is_refused(at: str) -> None:
    assert await refusal("/ws/", page(None)) is None
    assert await refusal(at + "more/", page(None)) is None
