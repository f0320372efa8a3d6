"""A socket is closed when the key, session, membership or trial that opened it ends."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.utils import timezone

from coordination.live import hub as hubs
from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword
from intramedial.workspaces import provision
from intramedial.workspaces.models import ApiKey, Membership, Trial, Workspace
from tests.live.browser import (
    TRIAL_PATH,
    UNAUTHENTICATED,
    acquire,
    bearer,
    closing,
    next_events,
    page,
    ticket_of,
    watching,
)

RECHECK_S = hubs.RECHECK_S

pytestmark = pytest.mark.usefixtures("authority")


@pytest.mark.parametrize(
    ("lost", "how"),
    [
        ("revoked", UNAUTHENTICATED),
        ("expired", UNAUTHENTICATED),
        ("deleted", UNAUTHENTICATED),
    ],
)
async def test_a_program_without_its_key_is_ended(
    workspace: Workspace, at: str, api_key: str, lost: str, how: tuple[int, str]
) -> None:
    key = ApiKey.objects.filter(workspace=workspace)
    async with watching(at, bearer(api_key)) as client:
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
        ("beta password", UNAUTHENTICATED),
    ],
)
async def test_a_member_without_the_right_is_ended(
    at: str, member: Any, session: str, lost: str, how: tuple[int, str]
) -> None:
    async with watching(at, page(session)) as client:
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
            case "beta password":
                content = (await Session.objects.aget(session_key=session)).get_decoded()
                let_in_by = BetaPassword.objects.filter(pk=content[beta.SESSION])
                await let_in_by.aupdate(revoked_at=timezone.now())
        assert await closing(client) == how


async def test_a_trial_that_ends_closes_its_socket(trial: Trial) -> None:
    async with watching(TRIAL_PATH, [], await ticket_of(trial)) as client:
        await Trial.objects.filter(pk=trial.pk).aupdate(expires_at=timezone.now())
        assert await closing(client) == (4401, "trial_expired")


async def test_sockets_with_other_credentials_stay_open(
    workspace: Workspace, at: str, api_key: str, session: str
) -> None:
    other = await sync_to_async(provision.create_api_key)(workspace)
    async with (
        watching(at, bearer(api_key)) as kept,
        watching(at, page(session)) as member,
        watching(at, bearer(other.secret)) as client,
    ):
        await sync_to_async(provision.revoke_api_key)(other.prefix)
        assert await closing(client) == UNAUTHENTICATED
        await acquire(workspace.public_id, "lock:a")
        for still in (kept, member):
            assert (await next_events(still))["events"][0]["resource"] == "lock:a"


async def test_rights_are_checked_often_enough() -> None:
    """A process uses a key in memory for up to a second. A socket is closed within five seconds after its
    key is revoked."""
    assert RECHECK_S < hubs.CONFIRM_S < 5  # the values outside tests
