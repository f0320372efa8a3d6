"""What a page of another origin may read: answers to signed requests, and nothing else."""

import json

import httpx
import pytest

from intramedial import api
from intramedial.workspaces.models import RegisteredAgent
from tests.api.client import AGENTS, LEASE, RELEASE, TRIAL, WAIT, Caller
from tests.signing import Agent

ELSEWHERE = "https://agents.example"
SENT = {
    "signature",
    "signature-input",
    "content-digest",
    "content-type",
    "intramedial-workspace",
    "idempotency-key",
    "prefer",
}
READ = {"x-request-id", "ratelimit", "ratelimit-policy", "retry-after", "www-authenticate"}
SIGNED = ", ".join(sorted(SENT))
KEYS = f"{TRIAL}/keys"


@pytest.fixture
async def signer(workspace, in_thread):
    """A registered agent of the workspace that signs its requests."""
    agent = Agent()
    await in_thread(RegisteredAgent.objects.create, workspace=workspace, did=agent.did)
    caller = Caller(agent=agent)
    yield caller
    await caller.close()


def names(value):
    """The names in a list of header fields."""
    return {name.strip().lower() for name in value.split(",")}


def shared(answer):
    """Whether a page of any origin may read the answer; fails if the headers contradict each other."""
    cors = {name for name in answer.headers if name.startswith("access-control-")}
    if not cors:
        return False
    assert cors == {"access-control-allow-origin", "access-control-expose-headers"}
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]
    assert names(answer.headers["access-control-expose-headers"]) >= READ
    return True


async def preflight(caller, path, method="POST", headers=SIGNED, origin=ELSEWHERE):
    """The answer to a preflight as a browser sends it."""
    fields = {"origin": origin, "access_control_request_method": method}
    if headers is not None:
        fields["access_control_request_headers"] = headers
    return await caller.call("OPTIONS", path, **fields)


async def test_other_origins_may_read_every_answer_to_a_signed_request(signer):
    did = signer.agent.did
    for origin in (ELSEWHERE, "http://localhost:3000", "null", "https://evil.example"):
        granted = await signer.lease("lock:a", did, origin=origin)
        assert granted.status_code == 200
        assert shared(granted)
    answers = {
        200: await signer.wait(),
        409: await signer.release("lock:b", did),
        422: await signer.lease("", did),
        403: await signer.lease("lock:a", "did:web:other.example"),
        400: await signer.call("POST", LEASE, b"{"),
        404: await signer.call("GET", AGENTS, params={"did": "did:web:nobody.example"}),
        405: await signer.call("PUT", LEASE),
    }
    for status, answer in answers.items():
        assert answer.status_code == status, answer.text
        assert shared(answer), status
    assert shared(await signer.withdraw("lock:a", did))
    assert shared(await signer.call("GET", "/api/v1/acp/nothing"))
    assert shared(await signer.call("POST", LEASE, b"x", content_type="text/plain"))
    assert shared(await signer.call("POST", LEASE, b"x" * 20_000))


async def test_other_origins_may_read_refused_signatures(signer, anonymous):
    body = json.dumps({"resource": "lock:a", "actorDid": signer.agent.did}).encode()
    headers = signer.agent.sign("POST", f"http://127.0.0.1:8000{LEASE}", body)
    request = httpx.Request("POST", f"http://127.0.0.1:8000{LEASE}", content=body, headers=headers)
    assert shared(await signer.send(request))
    replayed = await signer.send(request)
    assert (replayed.status_code, replayed.json()["reason"]) == (401, "replayed")
    assert shared(replayed)
    tampered = httpx.Request("POST", f"http://127.0.0.1:8000{LEASE}", content=body + b" ", headers=headers)
    refused = await signer.send(tampered)
    assert (refused.status_code, refused.json()["reason"]) == (401, "bad_signature")
    assert shared(refused)
    unknown = Caller(agent=Agent())
    answer = await unknown.lease("lock:a", unknown.agent.did)
    assert (answer.status_code, answer.json()["reason"]) == (401, "unauthenticated")
    assert shared(answer)
    await unknown.close()
    for field in ("signature", "signature_input"):
        half = await anonymous.call("GET", WAIT, **{field: "x"})
        assert half.status_code == 401
        assert shared(half)


async def test_other_origins_may_read_that_a_trial_is_used_up(settings, anonymous):
    settings.TRIAL_CALLS = 1
    trial = Caller(agent=Agent())
    assert (await trial.call("POST", KEYS, {"did": trial.agent.did})).status_code == 201
    assert shared(await trial.lease("lock:a", trial.agent.did))
    spent = await trial.lease("lock:a", trial.agent.did)
    assert (spent.status_code, spent.json()["reason"]) == (429, "trial_exhausted")
    assert shared(spent)
    assert shared(await trial.call("GET", TRIAL))
    await trial.close()


async def test_other_origins_may_read_nothing_else(caller, anonymous, signer, api_key):
    for answer in (
        await caller.lease("lock:a", "did:web:a.example", origin=ELSEWHERE),
        await caller.wait(),
        await caller.call("GET", WAIT, origin=ELSEWHERE),
        await caller.call("POST", LEASE, b"{", origin=ELSEWHERE),
        await caller.call("GET", "/api/v1/acp/nothing", origin=ELSEWHERE),
        await caller.call("PUT", LEASE, origin=ELSEWHERE),
        await anonymous.call("GET", WAIT, origin=ELSEWHERE),
        await anonymous.call("GET", WAIT, origin=ELSEWHERE, cookie="sessionid=1"),
        await anonymous.call("GET", WAIT, origin=ELSEWHERE, authorization="Bearer imk_x"),
        await anonymous.call("GET", "/health/live", origin=ELSEWHERE, signature="x"),
        # With a key, signed or not, the answer is closed.
        await caller.call("GET", WAIT, origin=ELSEWHERE, signature="x", signature_input="x"),
    ):
        assert not shared(answer), answer.request.url
        assert "set-cookie" not in answer.headers


async def test_a_preflight_of_a_signed_request_is_allowed(anonymous):
    for path, by_method in api.routes_by_path().items():
        if not path.startswith("/api/") or path == KEYS:
            continue
        for method in by_method:
            answer = await preflight(anonymous, path, method)
            assert answer.status_code == 204
            assert answer.headers["access-control-allow-origin"] == "*"
            assert method in answer.headers["access-control-allow-methods"].split(", ")
            assert names(answer.headers["access-control-allow-headers"]) >= SENT
            assert int(answer.headers["access-control-max-age"]) > 0
            assert "access-control-allow-credentials" not in answer.headers
            assert answer.headers["allow"] == answer.headers["access-control-allow-methods"]


async def test_a_preflight_that_asks_for_a_key_is_refused(anonymous):
    for headers in (
        "authorization",
        "Authorization",
        f"{SIGNED}, authorization",
        "content-type,AUTHORIZATION ",
    ):
        for path in (LEASE, RELEASE, WAIT, AGENTS, TRIAL):
            answer = await preflight(anonymous, path, headers=headers)
            assert answer.status_code == 204
            assert not shared(answer)
    allowed = (await preflight(anonymous, LEASE)).headers["access-control-allow-headers"]
    assert not names(allowed) & {"authorization", "cookie", "*"}


async def test_other_options_requests_are_no_preflight(anonymous):
    for headers in ({}, {"origin": ELSEWHERE}, {"access_control_request_method": "POST"}):
        answer = await anonymous.call("OPTIONS", LEASE, **headers)
        assert (answer.status_code, answer.headers["allow"]) == (204, "OPTIONS, POST")
        assert not shared(answer)
    for path in ("/health/live", "/openapi.json", "/.well-known/jwks.json"):
        assert "access-control-allow-methods" not in (await preflight(anonymous, path, "GET")).headers


async def test_a_trial_is_begun_by_pages_of_our_own_origin_only(anonymous):
    assert not shared(await preflight(anonymous, KEYS))
    for origin, status in ((ELSEWHERE, 403), ("null", 403), ("http://127.0.0.1:8000", 201)):
        visitor = Caller(agent=Agent())
        answer = await visitor.call("POST", KEYS, {"did": visitor.agent.did}, origin=origin)
        assert answer.status_code == status, answer.text
        assert not shared(answer)
        assert not shared(await visitor.call("GET", KEYS, origin=origin))
        # The rule is the same with and without a trailing slash.
        assert not shared(await visitor.call("POST", f"{KEYS}/", {"did": visitor.agent.did}, origin=origin))
        await visitor.close()


async def test_published_documents_have_one_header_that_makes_them_public(anonymous):
    for path in ("/openapi.json", "/.well-known/jwks.json", "/.well-known/did.json"):
        answer = await anonymous.call("GET", path, origin=ELSEWHERE, signature="x", signature_input="x")
        assert answer.headers.get_list("access-control-allow-origin") == ["*"]
