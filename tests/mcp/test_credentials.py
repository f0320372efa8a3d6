"""The key decides, as on REST: no key, a wrong one, one bound to an agent, a read-only one."""

import asyncio
import json
from datetime import UTC, datetime

import httpx2
import pytest
from mcp import MCPError
from mcp.client.auth import OAuthClientProvider, OAuthRegistrationError
from mcp.shared.auth import OAuthClientMetadata

from coordination.authority import process as authority
from intramedial.workspaces import keys
from intramedial.workspaces.models import ApiKey
from tests.mcp.client import NEW, OLD, text_of
from tests.signing import Agent as SigningAgent

LOCK = "lock:deploy/production"
A, B = "did:web:a.example", "did:web:b.example"
CALLS = [
    ("lease.acquire", {"resource": LOCK}),
    ("lease.release", {"resource": LOCK}),
    ("lease.withdraw", {"resource": LOCK}),
    ("status", {"resource": LOCK}),
]


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_the_official_client_reports_that_the_key_is_wrong(connect, version):
    with pytest.raises((MCPError, ExceptionGroup)) as raised:
        await connect(keys.make_key().secret, version=version)
    assert raised.group_contains(MCPError, match="unknown, revoked or expired") or "unknown" in str(
        raised.value
    )


class EmptyTokenStore:
    """The token store of an OAuth client that has never met a server."""

    async def get_tokens(self):
        return None

    async def get_client_info(self):
        return None


@pytest.mark.parametrize("path", ["/mcp", "/mcp/compat"])
async def test_a_client_that_then_tries_oauth_shows_what_is_wrong_with_the_key(url, path):
    metadata = OAuthClientMetadata(client_name="test", redirect_uris=["http://127.0.0.1:1/callback"])
    oauth = OAuthClientProvider(url + path, metadata, EmptyTokenStore())
    headers = {"authorization": f"Bearer {keys.make_key().secret}"}
    async with httpx2.AsyncClient(auth=oauth, headers=headers, trust_env=False) as client:
        with pytest.raises(OAuthRegistrationError) as raised:
            await client.post(url + path, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert "There is no OAuth here" in str(raised.value)
    assert "missing, unknown, revoked or expired" in str(raised.value)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/compat"])
async def test_without_a_key_the_challenge_names_no_error(wire, path):
    wire.key = None
    for headers in (
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Basic YTpi"},
        {"authorization": f"Bearer {keys.make_key().secret}"},
        {"cookie": "sessionid=1"},
    ):
        answer = await wire.post(b"{}", path, **headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        error = answer.json()["error"]
        assert (error["code"], error["data"]["reason"]) == (-32600, "unauthenticated")


async def test_signed_requests_are_referred_to_rest(wire, url):
    wire.key = None
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    signed = SigningAgent().sign("POST", f"{url}/mcp", body)
    answer = await wire.post(body, **{name.replace("-", "_"): value for name, value in signed.items()})
    assert answer.status_code == 401
    assert "use the REST API" in answer.json()["error"]["message"]


async def test_a_revoked_key_stops_working(wire, in_thread):
    assert "result" in await wire.call("coordination.wait", {})
    mine = ApiKey.objects.filter(sha256=keys.digest(wire.key))
    assert await in_thread(lambda: mine.update(revoked_at=datetime.now(UTC))) == 1
    # A key that was found is believed for a second at most.
    async with asyncio.timeout(2):
        while (await wire.post(b"{}")).status_code != 401:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_an_agent_key_can_only_name_itself(connect, make_key, version):
    agent = await connect(await make_key(actor_did=A), did=A, version=version)
    assert (await agent.body("lease.acquire", resource=LOCK))["ok"] is True
    agent.did = B
    for tool, arguments in CALLS:
        result = await agent.call(tool, **arguments)
        assert result.is_error is True
        body = result.structured_content
        assert (body["ok"], body["reason"], body["status"]) == (False, "actor_mismatch", 403)
        assert text_of(result) == f"Failed, actor_mismatch: These credentials can only act for {A}."
    # It may read everything, as on REST.
    assert (await agent.body("wait"))["holders"][0]["holder"] == A


async def test_a_read_only_key_may_only_read(connect, make_key, api_key):
    holder = await connect(api_key, did=A)
    await holder.body("lease.acquire", resource=LOCK)
    reader = await connect(await make_key(read_only=True), did=A)
    for tool, arguments in CALLS[:3]:
        result = await reader.call(tool, **arguments)
        assert (result.is_error, result.structured_content["reason"]) == (True, "forbidden")
    assert (await reader.body("status", resource=LOCK))["holds"] is True
    assert (await reader.body("wait"))["holders"]


async def test_another_workspace_sees_and_changes_nothing(connect, api_key, other_key):
    owner = await connect(api_key, did=A)
    waiter = await connect(api_key, did=B)
    await owner.body("lease.acquire", resource=LOCK)
    await waiter.body("lease.acquire", resource=LOCK)
    other = await connect(other_key, did=A)
    assert (await other.body("wait"))["holders"] == []
    assert (await other.body("wait", resource=LOCK))["queue"] == []
    assert (await other.body("status", resource=LOCK))["holds"] is False
    assert (await other.body("lease.release", resource=LOCK))["reason"] == "not_held"
    other.did = B
    assert (await other.body("lease.withdraw", resource=LOCK))["withdrawn"] is False
    taken = await other.body("lease.acquire", resource=LOCK)
    assert taken["lease"]["fencingToken"] == 1
    picture = await owner.body("wait")
    assert [held["holder"] for held in picture["holders"]] == [A]
    assert [wait["actorDid"] for wait in picture["queue"]] == [B]


async def test_a_full_workspace_and_a_storage_fault_are_results(connect, api_key, settings, monkeypatch):
    agent = await connect(api_key)
    settings.WORKSPACE_RESOURCES = 1
    await agent.body("lease.acquire", resource="lock:a")
    full = await agent.call("lease.acquire", resource="lock:b")
    assert (full.is_error, full.structured_content["reason"]) == (True, "rate_limited")

    async def unavailable(ask):
        raise authority.Unavailable

    monkeypatch.setattr(authority.get(), "ask", unavailable)
    lost = await agent.call("lease.acquire", resource="lock:a")
    assert (lost.is_error, lost.structured_content["reason"]) == (True, "authority_unavailable")
    assert "there is no lease" in text_of(lost)

    async def broken(ask):
        raise ZeroDivisionError("10.0.0.7")

    monkeypatch.setattr(authority.get(), "ask", broken)
    failed = await agent.call("lease.acquire", resource="lock:a")
    assert failed.structured_content["reason"] == "authority_unavailable"
    assert "10.0.0.7" not in json.dumps(failed.structured_content)
