"""Authentication by API keys."""

import logging
import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError

from intramedial.databases import threads
from intramedial.http.calls import Principal, RequestParts
from intramedial.http.problems import CHALLENGE, Problem
from intramedial.workspaces import keys, provision
from intramedial.workspaces.authentication import bearer
from intramedial.workspaces.models import ApiKey
from tests.identity.conftest import START

DID = "did:example:agent"


def asking(authorization=None):
    headers = {} if authorization is None else {"authorization": authorization}
    return RequestParts("GET", b"/api/v1/acp/coordination/wait", b"", headers)


async def refusal(authenticator, authorization):
    with pytest.raises(Problem) as caught:
        await authenticator.authenticate(asking(authorization))
    return caught.value


async def test_a_workspace_key_acts_for_any_agent(authenticator, workspace, api_key):
    principal = await authenticator.authenticate(asking(f"Bearer {api_key}"))
    assert principal == Principal(workspace.public_id, "workspace_key", None, False, {}, None)
    principal.require_actor("did:example:anybody")
    principal.require_write()


async def test_an_agent_key_names_only_itself(authenticator, workspace, in_thread):
    secret = (await in_thread(provision.create_api_key, workspace, actor_did=DID)).secret
    principal = await authenticator.authenticate(asking(f"bearer  {secret}"))
    assert (principal.auth, principal.actor) == ("agent_key", DID)
    principal.require_actor(DID)
    with pytest.raises(Problem) as caught:
        principal.require_actor(DID + "2")
    assert (caught.value.reason, caught.value.status) == ("actor_mismatch", 403)


async def test_a_read_only_key_does_not_write(authenticator, workspace, in_thread):
    secret = (await in_thread(provision.create_api_key, workspace, read_only=True)).secret
    principal = await authenticator.authenticate(asking(f"Bearer {secret}"))
    with pytest.raises(Problem) as caught:
        principal.require_write()
    assert (caught.value.reason, caught.value.status) == ("forbidden", 403)


async def test_the_workspaces_own_classes_come_with_it(authenticator, workspace, api_key, in_thread):
    workspace.semantic_classes = {"wiki": "shared"}
    await in_thread(workspace.save)
    principal = await authenticator.authenticate(asking(f"Bearer {api_key}"))
    assert principal.semantic_classes == {"wiki": "shared"}
    with pytest.raises(TypeError):
        principal.semantic_classes["wiki"] = "exclusive"


@pytest.mark.parametrize("authorization", [None, "", "Basic dTpw", "imk_x", "Signature keyId=a"])
async def test_without_credentials_the_challenge_says_what_to_send(authenticator, authorization):
    problem = await refusal(authenticator, authorization)
    assert (problem.reason, problem.status) == ("unauthenticated", 401)
    assert problem.headers["www-authenticate"] == CHALLENGE
    assert "imk_" in problem.detail


async def test_unknown_revoked_expired_and_mistyped_keys_get_the_same_answer(
    authenticator, workspace, clock, in_thread
):
    soon = datetime.fromtimestamp(START, UTC) + timedelta(seconds=1)
    revoked = await in_thread(provision.create_api_key, workspace)
    expired = await in_thread(provision.create_api_key, workspace, expires_at=soon)
    await in_thread(provision.revoke_api_key, revoked.prefix)
    clock.now += 1
    live = (await in_thread(provision.create_api_key, workspace)).secret
    refused = [
        revoked.secret,
        expired.secret,
        keys.make_key().secret,
        live[:-1] + ("0" if live[-1] != "0" else "1"),
        live + "x",
        f"{live}, Bearer {live}",
        "imk_",
        "ñ",
        "\x00" * 53,
    ]
    problems = [await refusal(authenticator, f"Bearer {secret}") for secret in refused]
    assert {(problem.reason, problem.status, problem.detail) for problem in problems} == {
        ("unauthenticated", 401, "The API key is unknown, revoked or expired.")
    }
    challenge = f'{CHALLENGE}, error="invalid_token", error_description="{problems[0].detail}"'
    assert all(problem.headers["www-authenticate"] == challenge for problem in problems)


async def test_an_empty_header_is_not_a_wrong_key(authenticator):
    """A variable that is not set leaves the header empty. That is another mistake, and its challenge has
    no error code (RFC 6750, 3.1)."""
    for given in ("Bearer", "Bearer ", "Bearer    ", "Basic YTpi", "imk_x"):
        problem = await refusal(authenticator, given)
        assert (problem.reason, problem.status) == ("unauthenticated", 401)
        assert problem.detail.startswith("Send an API key")
        assert problem.headers["www-authenticate"] == CHALLENGE


async def test_a_key_with_a_known_prefix_and_another_secret_is_unknown(authenticator, workspace, in_thread):
    secret = (await in_thread(provision.create_api_key, workspace)).secret
    body = secret[len(keys.MARK) : -keys.CHECKSUM_LENGTH - 1] + ("0" if secret[46] != "0" else "1")
    forged = keys.MARK + body + keys._checksum(body)
    assert keys.well_formed(forged)
    assert forged[: keys.PREFIX_LENGTH] == secret[: keys.PREFIX_LENGTH]
    assert (await refusal(authenticator, f"Bearer {forged}")).reason == "unauthenticated"


async def test_a_key_expires_while_it_is_remembered(authenticator, workspace, clock, in_thread):
    soon = datetime.fromtimestamp(START, UTC) + timedelta(milliseconds=100)
    secret = (await in_thread(provision.create_api_key, workspace, expires_at=soon)).secret
    await authenticator.authenticate(asking(f"Bearer {secret}"))
    clock.now += 0.1
    assert (await refusal(authenticator, f"Bearer {secret}")).reason == "unauthenticated"


# --- last use


def last_used(secret):
    return ApiKey.objects.get(prefix=secret[: keys.PREFIX_LENGTH]).last_used_at


async def test_the_last_use_is_recorded_to_the_minute(authenticator, workspace, clock, in_thread):
    first, second = [(await in_thread(provision.create_api_key, workspace)).secret for _ in range(2)]
    assert await in_thread(last_used, first) is None
    clock.now = START + 61
    for secret in (first, first, second):
        await authenticator.authenticate(asking(f"Bearer {secret}"))
    authenticator.close()
    assert (
        await in_thread(last_used, first)
        == await in_thread(last_used, second)
        == datetime.fromtimestamp(START + 60, UTC)
    )
    clock.now = START + 125
    await authenticator.authenticate(asking(f"Bearer {first}"))
    authenticator.close()
    assert await in_thread(last_used, first) == datetime.fromtimestamp(START + 120, UTC)
    assert await in_thread(last_used, second) == datetime.fromtimestamp(START + 60, UTC)


async def test_a_later_use_recorded_by_another_process_stays(authenticator, api_key, clock, in_thread):
    later = datetime.fromtimestamp(START + 600, UTC)
    await in_thread(ApiKey.objects.filter(prefix=api_key[: keys.PREFIX_LENGTH]).update, last_used_at=later)
    await authenticator.authenticate(asking(f"Bearer {api_key}"))
    authenticator.close()
    assert await in_thread(last_used, api_key) == later


async def test_a_use_that_cannot_be_recorded_delays_nothing_and_is_logged(
    authenticator, api_key, clock, monkeypatch, caplog, in_thread
):
    hanging, written = threading.Event(), bearer._write_last_uses

    def hang(minutes):
        hanging.wait(10)
        raise OperationalError("disk full")

    monkeypatch.setattr(bearer, "_write_last_uses", hang)
    with caplog.at_level(logging.ERROR):
        await authenticator.authenticate(asking(f"Bearer {api_key}"))
        hanging.set()
        authenticator.close()
    assert "last use" in caplog.text
    assert await in_thread(last_used, api_key) is None
    monkeypatch.setattr(bearer, "_write_last_uses", written)
    clock.now += 60
    await authenticator.authenticate(asking(f"Bearer {api_key}"))
    authenticator.close()
    assert await in_thread(last_used, api_key) is not None


# --- storage trouble


async def test_a_database_fault_has_its_own_answer(authenticator, api_key, monkeypatch):
    asked = []

    def broken(secret):
        asked.append(secret)
        raise OperationalError("server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(bearer, "find_key", broken)
        problem = await refusal(authenticator, f"Bearer {api_key}")
    assert (problem.reason, problem.status) == ("authority_unavailable", 503)
    assert "connection" not in problem.detail
    assert len(asked) == 2  # once more, over a new connection
    assert await authenticator.authenticate(asking(f"Bearer {api_key}"))


async def test_a_dead_connection_is_replaced(authenticator, api_key, monkeypatch):
    find, failures = bearer.find_key, [OperationalError("connection lost")]

    def flaky(secret):
        if failures:
            raise failures.pop()
        return find(secret)

    monkeypatch.setattr(bearer, "find_key", flaky)
    assert await authenticator.authenticate(asking(f"Bearer {api_key}"))


async def test_a_hanging_database_is_not_waited_for(authenticator, api_key, monkeypatch):
    hanging = threading.Event()
    monkeypatch.setattr(threads, "ANSWER_WITHIN_S", 0.01)
    monkeypatch.setattr(bearer, "find_key", lambda secret: hanging.wait(10) and None)
    try:
        problem = await refusal(authenticator, f"Bearer {api_key}")
    finally:
        hanging.set()
    assert problem.reason == "authority_unavailable"
