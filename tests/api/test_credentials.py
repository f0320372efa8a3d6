"""Who may do what: without a key, with an unknown, revoked, expired, bound or read-only one, or another
workspace's."""

import asyncio
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from intramedial.workspaces import keys, provision
from intramedial.workspaces.authentication import callers as authentication
from intramedial.workspaces.models import ApiKey, RegisteredAgent, Workspace
from tests.api.client import AGENTS, LEASE, RELEASE, TRIAL, WAIT, Caller, did, reason
from tests.signing import Agent

A, B = did("a"), did("b")
BODY = {"resource": "lock:a", "actorDid": A}
OPERATIONS = [
    ("POST", LEASE, BODY, None),
    ("POST", RELEASE, BODY, None),
    ("GET", WAIT, None, {"resource": "lock:a"}),
    ("DELETE", WAIT, None, BODY),
    ("GET", AGENTS, None, {"did": A}),
    ("GET", TRIAL, None, None),
    ("POST", f"{TRIAL}/keys", {"did": A}, None),
    ("POST", f"{TRIAL}/agents", {"did": A, "proof": "a.b.c"}, None),
    ("POST", f"{TRIAL}/ticket", None, None),
]
COORDINATION = OPERATIONS[:5]


@pytest.fixture
async def calls_with(in_thread, workspace):
    """`await calls_with(**options)`: a caller with a key of `workspace` that was made with these options."""
    callers = []

    async def make(**options):
        made = await in_thread(provision.create_api_key, workspace, **options)
        callers.append(Caller(made.secret))
        return callers[-1]

    yield make
    for caller in callers:
        await caller.close()


@pytest.mark.parametrize(("method", "path", "body", "params"), OPERATIONS)
async def test_without_credentials_every_operation_is_refused(anonymous, method, path, body, params):
    for headers in (
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Basic YTpi"},
        {"authorization": "Bearer imk_short"},
        {"authorization": f"Bearer {keys.make_key().secret}"},
        {"authorization": f"Bearer {keys.make_key().secret[:-1]}0"},
        {"authorization": "Bearer " + "é" * 53},
        {"authorization": "Bearer " + "x" * 8000},
        {"authorization": f"imk {keys.make_key().secret}"},
        {"cookie": "sessionid=1"},
    ):
        encoded = {name: value.encode("utf-8") for name, value in headers.items()}
        answer = await anonymous.call(method, path, body, params=params, **encoded)
        assert reason(answer) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "imk_" not in answer.text.replace("imk_…", "")


async def test_a_key_in_the_query_is_no_key(anonymous, api_key):
    answer = await anonymous.call("GET", WAIT, params={"access_token": api_key, "key": api_key})
    assert reason(answer) == (401, "unauthenticated")


async def test_the_case_of_the_scheme_does_not_matter(caller, api_key):
    caller.key = None
    assert (await caller.call("GET", WAIT, authorization=f"bearer {api_key}")).status_code == 200


async def test_a_revoked_key_stops_within_a_second(caller, in_thread):
    """A call a second after the revocation is refused; most calls are refused earlier."""
    assert (await caller.lease("lock:a", A)).status_code == 200
    await in_thread(provision.revoke_api_key, caller.key[: keys.PREFIX_LENGTH])
    revoked = time.monotonic()
    while True:
        asked = time.monotonic()
        answer = await caller.lease("lock:a", A)
        if asked - revoked >= 1 or answer.status_code != 200:
            break
        await asyncio.sleep(0.05)
    assert reason(answer) == (401, "unauthenticated")


async def test_an_expired_key_is_refused(calls_with, in_thread):
    caller = await calls_with(expires_at=timezone.now() + timedelta(hours=1))
    assert (await caller.call("GET", WAIT)).status_code == 200
    caller = await calls_with(expires_at=timezone.now() - timedelta(seconds=1))
    assert reason(await caller.call("GET", WAIT)) == (401, "unauthenticated")


async def test_a_key_of_one_agent_can_only_name_that_agent(caller, calls_with):
    own = await calls_with(actor_did=A)
    assert (await caller.lease("lock:b", B)).status_code == 200
    before = (await caller.wait()).json() | {"serverTime": ""}
    for answer in (
        await own.lease("lock:a", B),
        await own.release("lock:b", B),
        await own.withdraw("lock:b", B),
    ):
        assert reason(answer) == (403, "actor_mismatch")
        assert A in answer.json()["detail"]
    assert (await caller.wait()).json() | {"serverTime": ""} == before
    assert (await own.lease("lock:a", A)).status_code == 200
    # It may read all of its workspace.
    assert len((await own.wait()).json()["holders"]) == 2
    assert (await own.call("GET", AGENTS, params={"did": B})).status_code == 200


async def test_a_read_only_key_can_only_read(caller, calls_with):
    reader = await calls_with(read_only=True)
    await caller.lease("lock:a", A)
    for method, path, body, params in COORDINATION:
        answer = await reader.call(method, path, body, params=params)
        if method == "GET":
            assert answer.status_code == 200
        else:
            assert reason(answer) == (403, "forbidden")
    # Its body is not looked at first.
    assert reason(await reader.call("POST", LEASE, b"{")) == (403, "forbidden")
    assert (await caller.wait()).json()["queue"] == []


async def test_another_workspace_sees_and_changes_nothing(caller, other_caller):
    lease = (await caller.lease("lock:a", A)).json()["lease"]
    await caller.lease("lock:a", B)
    before = (await caller.wait()).json() | {"serverTime": ""}
    assert (await other_caller.wait()).json() | {"serverTime": ""} == {
        "ok": True,
        "serverTime": "",
        "holders": [],
        "queue": [],
        "deadlocks": [],
    }
    assert reason(await other_caller.call("GET", AGENTS, params={"did": A})) == (404, "not_found")
    assert (await other_caller.release("lock:a", A, lease["leaseId"])).json()["reason"] == "stale_lease"
    assert (await other_caller.withdraw("lock:a", B)).json()["withdrawn"] is False
    assert (await other_caller.lease("lock:a", A)).json()["lease"]["fencingToken"] == 1
    assert (await caller.wait()).json() | {"serverTime": ""} == before


@pytest.mark.parametrize(("method", "path", "body", "params"), OPERATIONS[5:])
async def test_a_workspace_key_is_not_a_trial(caller, method, path, body, params):
    answer = await caller.call(method, path, body, params=params)
    expected = (401, "unauthenticated") if path.endswith("keys") else (403, "forbidden")
    assert reason(answer) == expected


async def test_a_workspaces_own_semantic_classes_decide_modes(caller, workspace, in_thread):
    def set_classes():
        Workspace.objects.filter(pk=workspace.pk).update(
            semantic_classes={"table": "shared", "doc": "exclusive"}
        )

    await in_thread(set_classes)
    assert (await caller.lease("table:users#read", A)).json()["lease"]["mode"] == "shared"
    assert (await caller.lease("doc:a#read", A)).json()["lease"]["mode"] == "exclusive"


async def test_a_registered_agent_may_sign_its_requests(workspace, in_thread):
    agent = Agent()
    signer = Caller(agent=agent)
    assert reason(await signer.lease("lock:a", agent.did)) == (401, "unauthenticated")
    await in_thread(RegisteredAgent.objects.create, workspace=workspace, did=agent.did)
    assert (await signer.lease("lock:a", agent.did)).json()["lease"]["holder"] == agent.did
    assert reason(await signer.lease("lock:a", A)) == (403, "actor_mismatch")
    other = await in_thread(provision.create_workspace, "second")
    await in_thread(RegisteredAgent.objects.create, workspace=other, did=agent.did)
    assert reason(await signer.lease("lock:a", agent.did)) == (401, "unauthenticated")
    answer = await signer.call(
        "POST",
        LEASE,
        {"resource": "lock:a", "actorDid": agent.did},
        intramedial_workspace=other.public_id,
    )
    assert answer.json()["lease"]["fencingToken"] == 1
    await signer.close()


async def test_a_key_and_a_signature_at_once_are_refused(workspace, in_thread, api_key):
    agent = Agent()
    await in_thread(RegisteredAgent.objects.create, workspace=workspace, did=agent.did)
    both = Caller(api_key, agent)
    assert reason(await both.lease("lock:a", agent.did)) == (401, "unauthenticated")
    await both.close()


async def test_the_last_use_of_a_key_is_recorded(caller, in_thread):
    await caller.call("GET", WAIT)
    authentication.stop()
    prefix = caller.key[: keys.PREFIX_LENGTH]
    assert (await in_thread(ApiKey.objects.get, prefix=prefix)).last_used_at is not None
