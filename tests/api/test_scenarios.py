"""The stampede that the server plays in a trial: one counted call, fifty agents, real decisions."""

import asyncio
import json
from itertools import pairwise

import httpx
import jwt
import pytest
from django.db import connections

from coordination.api import stampede
from coordination.authority import process as authority
from coordination.core.model import Mode
from tests.api.client import COORDINATION, TRIAL, Caller, problem, rate_limit
from tests.signing import Agent

STAMPEDE = f"{COORDINATION}/scenarios/stampede"
FILE = "file:report"


def lines_of(answer: httpx.Response) -> list[dict]:
    """The lines of a run that ended."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.fixture
def without_pauses(monkeypatch):
    """Agents that do no work and wait no longer than they are asked to."""
    monkeypatch.setattr(stampede, "WORK_S", 0.0)
    monkeypatch.setattr(stampede, "JITTER", 0.0)


@pytest.fixture
def ten_agents(monkeypatch, without_pauses):
    """As many agents as a queue holds, one that is granted, and one more."""
    monkeypatch.setattr(stampede, "CROWD", 10)


async def test_fifty_ask_at_once_and_each_has_it_once(trial, without_pauses):
    answer = await trial.call("POST", STAMPEDE, {"resource": FILE})
    begins, *asked, ends = lines_of(answer)
    assert (begins["type"], begins["resource"], begins["mode"]) == ("begins", FILE, "exclusive")
    agents = begins["agents"]
    assert len(set(agents)) == 50

    first = {}
    for line in asked:
        first.setdefault(line["agent"], line["answer"])
    assert len(first) == 50
    assert [reply["ok"] for reply in first.values()].count(True) == 1
    queued = [reply for reply in first.values() if reply.get("queued")]
    assert [reply["position"] for reply in queued] == list(range(1, 9))
    assert [reply["stampede"]["waitMs"] for reply in queued] == [25, 50, 100, 200, 400, 800, 800, 800]
    not_queued = [reply for reply in first.values() if reply.get("queued") is False]
    assert {(reply["stampede"]["admitted"], reply["stampede"]["waitMs"]) for reply in not_queued} == {
        (8, 800)
    }

    granted = [line for line in asked if line["operation"] == "lease" and line["answer"]["ok"]]
    assert sorted(line["agent"] for line in granted) == list(range(1, 51))
    tokens = [line["answer"]["lease"]["fencingToken"] for line in granted]
    assert tokens == list(range(1, 51))
    assert {agents[line["agent"] - 1] for line in granted} == {
        line["answer"]["lease"]["holder"] for line in granted
    }
    # One holder at a time: each grant is followed by its release.
    turns = [(line["operation"], line["agent"]) for line in asked if line["answer"]["ok"]]
    assert turns == [
        turn for line in granted for turn in (("lease", line["agent"]), ("release", line["agent"]))
    ]
    asks = [line for line in asked if line["operation"] == "lease"]
    assert ends == {"type": "ends", "ms": ends["ms"], "asks": len(asks), "grants": 50}
    assert all(a["ms"] <= b["ms"] for a, b in pairwise([*asked, ends]))


async def test_it_counts_as_one_call_and_leaves_nothing_behind(trial, ten_agents):
    answer = await trial.call("POST", STAMPEDE, {"resource": FILE})
    assert rate_limit(answer) == 34
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 1
    picture = (await trial.wait()).json()
    assert (picture["holders"], picture["queue"]) == ([], [])


async def test_its_receipts_say_that_the_requests_were_not_signed(trial, ten_agents):
    begins, *asked, _ = lines_of(await trial.call("POST", STAMPEDE, {"resource": FILE}))
    published = jwt.PyJWKSet.from_dict((await trial.call("GET", "/.well-known/jwks.json")).json())
    for line in asked:
        receipt = line["answer"].pop("receipt")
        # `iat` is from the authority's clock, which tests move ahead.
        key, options = published[receipt["kid"]], {"verify_iat": False}
        claims = jwt.decode(receipt["jws"], key, algorithms=["EdDSA"], options=options)
        assert (claims["auth"], claims["jti"]) == ("scenario", receipt["id"])
        assert claims["sub"] == begins["agents"][line["agent"] - 1]
        assert claims["result"] == line["answer"]


ROWS = {
    "leases": ("lease_agent", "lease_trust_move", "lease_outbox", "lease_lease", "lease_wait"),
    "ledger": ("ledger_entry",),
}


def rows_of(workspace: str) -> dict[str, int]:
    """How many rows the workspace has in each table that a lease writes to."""
    found = {}
    for alias, tables in ROWS.items():
        with connections[alias].cursor() as cursor:
            for table in tables:
                cursor.execute(f"SELECT count(*) FROM {table} WHERE workspace = %s", [workspace])
                found[table] = cursor.fetchone()[0]
    return found


async def ledger_up_to_date(trial, in_thread, workspace) -> dict[str, int]:
    """The rows of the workspace once a lease that the trial now asks for has moved from the outbox to the
    ledger."""
    before = await in_thread(rows_of, workspace)
    assert (await trial.lease("lock:own", trial.agent.did)).status_code == 200
    async with asyncio.timeout(20):
        while True:
            found = await in_thread(rows_of, workspace)
            if found["ledger_entry"] > before["ledger_entry"] and not found["lease_outbox"]:
                return found
            await asyncio.sleep(0.02)


async def test_a_run_leaves_nothing_on_the_disk(trial, in_thread, without_pauses):
    """Otherwise one call without an account would leave a hundred entries in a permanent ledger."""
    workspace = (await trial.call("GET", TRIAL)).json()["workspace"]
    for _ in range(2):
        assert lines_of(await trial.call("POST", STAMPEDE, {"resource": FILE}))[-1]["grants"] == 50
    found = await ledger_up_to_date(trial, in_thread, workspace)
    assert (found["ledger_entry"], found["lease_agent"], found["lease_trust_move"]) == (1, 1, 0)
    assert found["lease_outbox"] == 0
    assert not authority.current().passing


async def test_a_run_whose_caller_disconnects_leaves_nothing_on_the_disk(trial, in_thread, monkeypatch):
    """Every agent that reads holds the file at that moment; their returned leases leave no rows either."""
    monkeypatch.setattr(stampede, "WORK_S", 30.0)
    workspace = (await trial.call("GET", TRIAL)).json()["workspace"]
    run = stampede.StampedeRun(workspace, "file:report", Mode.SHARED, "sha-256=:x:")
    lines = run.lines()
    async for line in lines:
        if line["type"] == "answer":
            break
    await lines.aclose()
    async with asyncio.timeout(20):
        while authority.current().passing:
            await asyncio.sleep(0.02)
    found = await ledger_up_to_date(trial, in_thread, workspace)
    assert (found["ledger_entry"], found["lease_agent"], found["lease_trust_move"]) == (1, 1, 0)
    assert (await trial.wait("file:report")).json()["holders"] == []


async def test_a_resource_that_another_agent_keeps_ends_the_run_in_time(trial, monkeypatch):
    monkeypatch.setattr(stampede, "LONGEST_S", 0.3)
    own = trial.agent.did
    assert (await trial.lease(FILE, own)).status_code == 200
    *_, ends = lines_of(await trial.call("POST", STAMPEDE, {"resource": FILE}))
    assert (ends["type"], ends["grants"]) == ("ends", 0)
    picture = (await trial.wait()).json()
    assert ([held["holder"] for held in picture["holders"]], picture["queue"]) == ([own], [])


async def test_an_authority_that_stops_answering_ends_the_run_with_words(trial, monkeypatch):
    running = authority.get()
    ask, asked = running.ask, []

    async def failing(asking):
        asked.append(asking)
        if len(asked) == 20:
            raise authority.Unavailable("away")
        return await ask(asking)

    monkeypatch.setattr(running, "ask", failing)
    lines = lines_of(await trial.call("POST", STAMPEDE, {"resource": FILE}))
    assert [line["reason"] for line in lines if line["type"] == "problem"] == ["authority_unavailable"]
    picture = (await trial.wait()).json()
    assert (picture["holders"], picture["queue"]) == ([], [])


async def test_one_run_at_a_time(trial, ten_agents):
    second = Caller(agent=trial.agent)
    answers = await asyncio.gather(
        *(caller.call("POST", STAMPEDE, {"resource": FILE}) for caller in (trial, second))
    )
    await second.close()
    assert sorted(answer.status_code for answer in answers) == [200, 429]
    refused = max(answers, key=lambda answer: answer.status_code)
    assert problem(refused, 429, "rate_limited")["detail"].startswith("A stampede is running already")
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 2
    assert lines_of(await trial.call("POST", STAMPEDE, {"resource": FILE}))[-1]["grants"] == 10


async def test_only_a_trial_may_run_the_stampede(caller):
    problem(await caller.call("POST", STAMPEDE, {"resource": FILE}), 403, "forbidden")


@pytest.mark.parametrize("body", [{}, {"resource": ""}, {"resource": 7}, {"resource": "a#b#c"}])
async def test_a_bad_resource_is_refused(trial, body):
    problem(await trial.call("POST", STAMPEDE, body), 422, "invalid_request")


async def test_runs_of_two_trials_do_not_meet(visitor, trial, ten_agents):
    other = Caller(agent=Agent())
    await other.call("POST", f"{TRIAL}/keys", {"did": other.agent.did})
    lines = lines_of(await other.call("POST", STAMPEDE, {"resource": FILE}))
    await other.close()
    assert lines[-1]["grants"] == 10
    assert (await trial.lease(FILE, trial.agent.did)).json()["lease"]["fencingToken"] == 1
