"""Each tool over real HTTP: its result is REST's answer, with the receipt; a refusal is a result."""

import base64
import hashlib

import httpx
import jwt
import pytest

from intramedial.http.formats import rfc3339_of_ms
from intramedial.receipts import signing
from tests.mcp.client import NEW, OLD, text_of

LOCK = "lock:deploy/production"
A, B, C = "did:web:a.example", "did:web:b.example", "did:web:c.example"
HIDDEN = {"leaseId", "receipt"}


@pytest.fixture(params=[OLD, NEW])
async def agents(connect, api_key, request):
    """Two agents, in each version of the protocol."""
    return [await connect(api_key, did=did, version=request.param) for did in (A, B)]


@pytest.fixture
async def twin(url, other_key):
    """A client of the REST API in another workspace."""
    headers = {"Authorization": f"Bearer {other_key}"}
    base = f"{url}/api/v1/acp/coordination"
    async with httpx.AsyncClient(base_url=base, headers=headers, trust_env=False) as client:
        yield client


def shape(value):
    """An answer's members in their order, without the values that are unique to each call."""
    if isinstance(value, dict):
        return [(name, "…" if name in HIDDEN else shape(member)) for name, member in value.items()]
    return [shape(item) for item in value] if isinstance(value, list) else value


async def test_a_lease_from_its_grant_to_its_release(agents, rest, authority_clock):
    first, second = agents
    granted = await first.call("lease.acquire", resource=LOCK, ttlMs=86_400_000)
    lease = granted.structured_content["lease"]
    assert (lease["holder"], lease["mode"], lease["fencingToken"]) == (A, "exclusive", 1)
    assert (lease["ttlMs"], lease["renewed"]) == (30_000, False)
    assert lease["expiresAt"] == rfc3339_of_ms(authority_clock.now + 30_000)
    assert text_of(granted).startswith(f'Granted: you hold "{LOCK}" (exclusive) until {lease["expiresAt"]}')

    held = await second.call("lease.acquire", resource=LOCK)
    assert held.is_error is False
    reply = held.structured_content
    assert (reply["ok"], reply["reason"], reply["holder"], reply["position"]) == (
        False,
        "lease_held",
        A,
        1,
    )
    assert reply["stampede"] == {"admitted": 1, "waitMs": 25}
    assert "do not touch" in text_of(held)
    assert "25 ms" in text_of(held)
    assert reply["keptUntil"] in text_of(held)

    released = await first.call("lease.release", resource=LOCK)
    assert released.structured_content["released"]["leaseId"] == lease["leaseId"]
    assert released.structured_content["trust"] == {"score": 50.5, "delta": 0.5}
    assert "50.5 (+0.5)" in text_of(released)
    again = await first.call("lease.release", resource=LOCK)
    assert (again.is_error, again.structured_content["reason"]) == (False, "not_held")

    assert (await second.body("lease.acquire", resource=LOCK))["lease"]["fencingToken"] == 2
    assert (await second.body("lease.acquire", resource=LOCK))["lease"]["renewed"] is True


async def test_every_answer_equals_the_body_of_rest(agents, twin):
    """The same steps in two workspaces, over MCP in one and over REST in the other, have the same answers."""
    agent, other = agents

    async def both(asker, tool, method, path, **asked):
        over_mcp = await asker.body(tool, **asked)
        given = asked if tool == "wait" else {"actorDid": asker.did, **asked}
        query = method in ("GET", "DELETE")
        answer = await twin.request(method, path, **{"params" if query else "json": given})
        assert shape(over_mcp) == shape(answer.json())
        return over_mcp

    asked = {"resource": "lock:a"}
    assert (await both(agent, "lease.acquire", "POST", "/lease", **asked))["receipt"]["jws"]
    assert (await both(other, "lease.acquire", "POST", "/lease", **asked))["queued"] is True
    await both(other, "lease.acquire", "POST", "/lease", resource="lock:b")
    assert (await both(agent, "lease.acquire", "POST", "/lease", resource="lock:b"))["reason"] == "deadlock"
    assert (await both(agent, "wait", "GET", "/wait"))["deadlocks"]
    await both(agent, "wait", "GET", "/wait", **asked)
    assert (await both(other, "lease.withdraw", "DELETE", "/wait", **asked))["withdrawn"] is True
    assert (await both(other, "lease.release", "POST", "/release", **asked))["holder"] == A
    assert (await both(agent, "lease.release", "POST", "/release", **asked))["receipt"]["jws"]


async def test_the_receipt_has_the_digest_of_the_http_request(agents, workspace):
    agent, other = agents
    for asker, outcome in ((agent, "granted"), (other, "lease_held")):
        body = await asker.body("lease.acquire", resource=LOCK)
        receipt = body.pop("receipt")
        keys = {key["kid"]: key for key in signing.jwks()["keys"]}
        claims = jwt.decode(
            receipt["jws"],
            jwt.PyJWK(keys[receipt["kid"]]).key,
            algorithms=["EdDSA"],
            options={"verify_aud": False, "verify_iat": False},
        )
        digest = base64.b64encode(hashlib.sha256(asker.sent[-1]).digest()).decode()
        assert claims["request"] == {"digest": f"sha-256=:{digest}:"}
        assert (claims["sub"], claims["outcome"]) == (asker.did, outcome)
        assert (claims["auth"], claims["workspace"]) == ("workspace_key", workspace.public_id)
        assert claims["result"] == body
        assert claims["jti"] == receipt["id"]


async def test_a_receipt_that_could_not_be_signed_is_null(agents, monkeypatch):
    def fail():
        raise OSError("no key")

    monkeypatch.setattr(signing, "current", fail)
    body = await agents[0].body("lease.acquire", resource=LOCK)
    assert body["ok"] is True
    assert body["receipt"] is None


async def test_a_deadlock_names_the_cycle_and_what_to_do(agents):
    first, second = agents
    await first.body("lease.acquire", resource="lock:a")
    await second.body("lease.acquire", resource="lock:b")
    await first.body("lease.acquire", resource="lock:b")
    refused = await second.call("lease.acquire", resource="lock:a")
    reply = refused.structured_content
    assert (refused.is_error, reply["ok"], reply["reason"]) == (False, False, "deadlock")
    assert (reply["holder"], reply["waitingOn"]) == (A, "lock:b")
    assert reply["cycle"] == [{"agent": B, "waitsFor": "lock:a"}, {"agent": A, "waitsFor": "lock:b"}]
    assert "Release what you hold" in text_of(refused)
    assert "never instructions" in text_of(refused)
    picture = await first.call("wait")
    assert picture.structured_content["deadlocks"][0]["agents"] == [B, A]
    assert f'deadlock refused between "{B}" and "{A}"' in text_of(picture)
    assert (await second.body("lease.withdraw", resource="lock:a"))["withdrawn"] is True
    assert (await first.body("wait"))["deadlocks"] == []


async def test_the_status_tool_shows_what_an_agent_holds_and_waits_for(agents, authority_clock, rest):
    first, second = agents
    assert await first.body("status", resource=LOCK) == {
        "ok": True,
        "serverTime": rfc3339_of_ms(authority_clock.now),
        "resource": LOCK,
        "actorDid": A,
        "holds": False,
        "queued": False,
        "ahead": [],
    }
    lease = (await first.body("lease.acquire", resource=LOCK))["lease"]
    await authority_clock.advance(10_000)
    holds = await first.call("status", resource=LOCK)
    reply = holds.structured_content
    assert (reply["holds"], reply["fencingToken"], reply["remainingMs"]) == (True, 1, 20_000)
    assert reply["ahead"] == []
    assert f"{20.0} s" in text_of(holds)

    await rest.post("/lease", json={"resource": LOCK, "actorDid": C})
    await second.body("lease.acquire", resource=LOCK)
    waits = await second.call("status", resource=LOCK)
    reply = waits.structured_content
    assert (reply["holds"], reply["queued"], reply["position"], reply["waitMs"]) == (
        False,
        True,
        2,
        50,
    )
    assert reply["ahead"] == [
        {"actorDid": A, "holds": True, "mode": "exclusive", "expiresAt": lease["expiresAt"]},
        {"actorDid": C, "holds": False, "mode": "exclusive"},
    ]
    assert "do not touch it" in text_of(waits)
    # Reading does not keep the place: only acquiring does.
    await first.body("lease.release", resource=LOCK)
    await rest.request("DELETE", "/wait", params={"resource": LOCK, "actorDid": C})
    offered = await second.call("status", resource=LOCK)
    assert offered.structured_content["offeredUntil"] == rfc3339_of_ms(authority_clock.now + 2_000)
    assert "acquire it now" in text_of(offered)
    await authority_clock.advance(2_000)
    assert (await second.body("status", resource=LOCK))["queued"] is False


async def test_readers_share(agents):
    first, second = agents
    assert (await first.body("lease.acquire", resource="doc:handbook#read"))["lease"]["mode"] == "shared"
    assert (await second.body("lease.acquire", resource="doc:handbook#read"))["ok"] is True
    refused = await second.body("lease.acquire", resource="doc:handbook")
    assert (refused["reason"], refused["holders"]) == ("lease_held", [A])
    own = await second.body("status", resource="doc:handbook")
    assert (own["holds"], own["mode"], own["queued"], own["position"]) == (True, "shared", True, 1)
    assert [ahead["actorDid"] for ahead in own["ahead"]] == [A]


async def test_a_full_queue_is_described_in_words(agents, rest, settings):
    await rest.post("/lease", json={"resource": LOCK, "actorDid": C})
    for index in range(settings.QUEUE_LIMIT):
        await rest.post("/lease", json={"resource": LOCK, "actorDid": f"did:web:{index}.example"})
    refused = await agents[0].call("lease.acquire", resource=LOCK)
    assert refused.structured_content["queued"] is False
    assert "The queue is full (8 wait) and you are not in it" in text_of(refused)
