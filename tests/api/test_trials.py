"""Trials over HTTP: a signature begins one; 35 calls, seven days, at most eight agents."""

import asyncio
import time
from datetime import timedelta

import httpx
import orjson
import pytest
from django.conf import settings as project
from django.utils import timezone

from intramedial.http.addresses import address_hash
from intramedial.workspaces import provision
from intramedial.workspaces.models import Trial
from tests.api.client import AGENTS, LEASE, TRIAL, WAIT, Caller, rate_limit, reason
from tests.signing import Agent

KEYS, MORE, TICKET = f"{TRIAL}/keys", f"{TRIAL}/agents", f"{TRIAL}/ticket"


async def test_a_key_begins_a_trial_once(visitor, in_thread):
    agent = visitor.agent
    answer = await visitor.call("POST", KEYS, {"did": agent.did})
    assert answer.status_code == 201
    state = answer.json()
    assert state | {"workspace": "", "expiresAt": ""} == {
        "did": agent.did,
        "workspace": "",
        "callsLimit": 35,
        "callsUsed": 0,
        "expiresAt": "",
    }
    assert state["workspace"].startswith("ws_")
    assert rate_limit(answer) == 35
    assert (await visitor.lease("lock:a", agent.did)).status_code == 200
    again = await visitor.call("POST", KEYS, {"did": agent.did})
    assert (again.status_code, again.json()) == (200, state | {"callsUsed": 1})
    seen = await visitor.call("GET", TRIAL)
    assert seen.json() == state | {"callsUsed": 1, "agents": []}
    trial = await in_thread(Trial.objects.get, did=agent.did)
    assert trial.address_hash == address_hash("127.0.0.1")
    assert "127.0.0.1" not in trial.address_hash


async def test_each_trial_is_a_workspace_of_its_own(trial):
    other = Caller(agent=Agent())
    await other.call("POST", KEYS, {"did": other.agent.did})
    await trial.lease("lock:a", trial.agent.did)
    assert (await other.lease("lock:a", other.agent.did)).json()["lease"]["fencingToken"] == 1
    assert len((await other.wait()).json()["holders"]) == 1
    await other.close()


async def test_every_coordination_call_counts_one_whatever_its_answer(trial):
    own = trial.agent.did
    counted = [
        (await trial.lease("lock:a", own), 200),
        (await trial.release("lock:a", own), 200),
        (await trial.release("lock:a", own), 409),
        (await trial.wait(), 200),
        (await trial.withdraw("lock:a", own), 200),
        (await trial.lease("lock:a", "did:web:another.example"), 403),
        (await trial.call("POST", LEASE, b"{"), 400),
        (await trial.call("POST", LEASE, {"resource": 1}), 422),
        (await trial.call("GET", f"{WAIT}?limit=x"), 422),
    ]
    for calls, (answer, status) in enumerate(counted, 1):
        assert answer.status_code == status
        assert rate_limit(answer) == 35 - calls
    free = [
        await trial.call("GET", TRIAL),
        await trial.call("POST", TICKET),
        await trial.call("GET", AGENTS, params={"did": own}),
        await trial.call("POST", LEASE, {"resource": "lock:a"}, content_type="text/plain"),
        await trial.call("POST", LEASE, b"x" * 20_000),
        await trial.call("PUT", LEASE),
    ]
    assert [answer.status_code for answer in free] == [200, 201, 200, 415, 413, 405]
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == len(counted)


async def test_after_35_calls_429(trial):
    own = trial.agent.did
    for _ in range(35):
        assert (await trial.lease("lock:a", own)).status_code == 200
    answer = await trial.lease("lock:a", own)
    assert reason(answer) == (429, "trial_exhausted")
    assert rate_limit(answer) == 0
    # The picture can still be read, and the lease goes on.
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 35
    assert (await trial.call("GET", AGENTS, params={"did": own})).json()["holds"]


async def test_of_200_calls_at_once_exactly_35_pass(trial):
    own = trial.agent.did
    answers = await asyncio.gather(*(trial.lease(f"lock:{number % 40}", own) for number in range(200)))
    passed = [answer for answer in answers if answer.status_code == 200]
    assert len(passed) == 35
    assert {reason(answer) for answer in answers if answer.status_code != 200} == {(429, "trial_exhausted")}
    assert sorted(rate_limit(answer) for answer in passed) == list(range(35))
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 35


async def test_a_trial_has_at_most_fifty_resources(trial, settings):
    settings.TRIAL_RESOURCES = 2
    own = trial.agent.did
    assert (await trial.lease("lock:1", own)).status_code == 200
    assert (await trial.lease("lock:2", own)).status_code == 200
    assert reason(await trial.lease("lock:3", own)) == (429, "rate_limited")


async def test_an_expired_trial_and_a_purged_one(trial, in_thread):
    own = trial.agent.did
    yesterday = timezone.now() - timedelta(days=1)
    await in_thread(Trial.objects.filter(did=own).update, expires_at=yesterday)
    for answer in (
        await trial.lease("lock:a", own),
        await trial.wait(),
        await trial.call("GET", TRIAL),
        await trial.call("POST", TICKET),
        await trial.call("POST", KEYS, {"did": own}),
    ):
        assert reason(answer) == (401, "trial_expired")
    await in_thread(provision.purge_trials)
    assert reason(await trial.lease("lock:a", own)) == (401, "trial_expired")
    # The key of a purged trial stays known: it cannot begin another.
    assert reason(await trial.call("POST", KEYS, {"did": own})) == (401, "trial_expired")


async def test_a_replayed_request_is_refused_and_not_counted(trial):
    body = orjson.dumps({"resource": "lock:a", "actorDid": trial.agent.did})
    url = project.BASE_URL + LEASE
    headers = trial.agent.sign("POST", url, body)
    first, second = [httpx.Request("POST", url, content=body, headers=headers) for _ in range(2)]
    assert (await trial.send(first)).status_code == 200
    assert reason(await trial.send(second)) == (401, "replayed")
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 1


async def test_a_tampered_expired_or_foreign_signature_is_refused_and_not_counted(trial):
    own = trial.agent.did
    body = orjson.dumps({"resource": "lock:a", "actorDid": own})
    url = project.BASE_URL + LEASE
    good = trial.agent.sign("POST", url, body)
    requests = [
        httpx.Request("POST", url, content=body + b" ", headers=good),
        httpx.Request("POST", url + "?x=1", content=body, headers=good),
        httpx.Request(
            "POST", project.BASE_URL + "/api/v1/acp/coordination/release", content=body, headers=good
        ),
        httpx.Request("POST", url, content=body, headers=good | {"content-digest": "sha-256=:AAAA:"}),
        httpx.Request(
            "POST", url, content=body, headers=trial.agent.sign("POST", url, body, created=time.time() - 600)
        ),
        httpx.Request(
            "POST", url, content=body, headers=trial.agent.sign("POST", url, body, created=time.time() + 600)
        ),
        httpx.Request("POST", url, content=body, headers=trial.agent.sign("POST", url, body, lifetime_s=600)),
        httpx.Request("POST", url, content=body, headers=trial.agent.sign("POST", url, body, tag="other")),
        httpx.Request("POST", url, content=body, headers=Agent().sign("POST", url, body, key_id=own)),
        httpx.Request(
            "POST",
            url,
            content=body,
            headers=trial.agent.sign("POST", "https://elsewhere.example" + LEASE, body),
        ),
    ]
    for request in requests:
        answer = await trial.send(request)
        assert reason(answer) == (401, "bad_signature")
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 0


async def test_begin_with_a_key_that_did_not_sign(visitor):
    assert reason(await visitor.call("POST", KEYS, {"did": Agent().did})) == (403, "actor_mismatch")
    answer = await visitor.call("POST", KEYS, {"did": "did:web:a.example"})
    assert answer.json()["errors"][0]["pointer"] == "/did"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9"},
        {"origin": "http://evil.example:8000", "host": "evil.example:8000"},
        {"origin": "http://["},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
async def test_pages_of_other_origins_begin_no_trial(visitor, headers):
    answer = await visitor.call("POST", KEYS, {"did": visitor.agent.did}, **headers)
    assert reason(answer) == (403, "forbidden")
    assert reason(await visitor.call("GET", TRIAL)) == (401, "unauthenticated")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:8000", "sec_fetch_site": "same-origin"},
        {"origin": "http://localhost:8000", "host": "localhost:8000"},
        {"sec_fetch_site": "none"},
    ],
)
async def test_our_own_pages_and_programs_begin_trials(visitor, headers):
    assert (await visitor.call("POST", KEYS, {"did": visitor.agent.did}, **headers)).status_code == 201


async def test_new_trials_of_an_address_are_limited(visitor, settings, in_thread):
    await in_thread(Trial.objects.update, created_at=timezone.now() - timedelta(hours=2))
    settings.TRIALS_PER_HOUR = 2
    assert (await visitor.call("POST", KEYS, {"did": visitor.agent.did})).status_code == 201
    callers = [Caller(agent=Agent()) for _ in range(5)]
    answers = await asyncio.gather(
        *(caller.call("POST", KEYS, {"did": caller.agent.did}) for caller in callers)
    )
    assert sorted(answer.status_code for answer in answers) == [201, 429, 429, 429, 429]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["reason"] == "rate_limited"
    assert 3500 < int(refused.headers["retry-after"]) <= 3600
    # Trials that have begun go on, and an hour later new ones may begin.
    assert (await visitor.call("POST", KEYS, {"did": visitor.agent.did})).status_code == 200
    await in_thread(Trial.objects.update, created_at=timezone.now() - timedelta(hours=1, seconds=1))
    late = Caller(agent=Agent())
    assert (await late.call("POST", KEYS, {"did": late.agent.did})).status_code == 201
    for caller in (*callers, late):
        await caller.close()
