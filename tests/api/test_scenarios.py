"""The stampede that the server runs in a trial: one counted call, fifty agents, real decisions."""

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


def told(answer: httpx.Response) -> list[dict]:
    """The lines of a run that came to its end."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.fixture
def in_haste(monkeypatch):
    """Agents that neither work nor wait longer than they are told."""
    monkeypatch.setattr(stampede, "WORK_S", 0.0)
    monkeypatch.setattr(stampede, "JITTER", 0.0)


@pytest.fixture
def a_few(monkeypatch, in_haste):
    """As many as a queue holds, one that is granted, and one more."""
    monkeypatch.setattr(stampede, "CROWD", 10)


async def test_fifty_ask_at_once_and_each_has_it_once(trial, in_haste):
    answer = await trial.call("POST", STAMPEDE, {"resource": FILE})
    begins, *asked, ends = told(answer)
    assert (begins["type"], begins["resource"], begins["mode"]) == ("begins", FILE, "exclusive")
    agents = begins["agents"]
    assert len(set(agents)) == 50

    first = {}
    for line in asked:
        first.setdefault(line["agent"], line["answer"])
    assert len(first) == 50
    assert [said["ok"] for said in first.values()].count(True) == 1
    queued = [said for said in first.values() if said.get("queued")]
    assert [said["position"] for said in queued] == list(range(1, 9))
    assert [said["stampede"]["waitMs"] for said in queued] == [25, 50, 100, 200, 400, 800, 800, 800]
    turned_away = [said for said in first.values() if said.get("queued") is False]
    assert {(said["stampede"]["admitted"], said["stampede"]["waitMs"]) for said in turned_away} == {(8, 800)}

    granted = [line for line in asked if line["operation"] == "lease" and line["answer"]["ok"]]
    assert sorted(line["agent"] for line in granted) == list(range(1, 51))
    tokens = [line["answer"]["lease"]["fencingToken"] for line in granted]
    assert tokens == list(range(1, 51))
    assert {agents[line["agent"] - 1] for line in granted} == {
        line["answer"]["lease"]["holder"] for line in granted
    }
    # One holder at a time: a grant and its release follow one another.
    turns = [(line["operation"], line["agent"]) for line in asked if line["answer"]["ok"]]
    assert turns == [
        turn for line in granted for turn in (("lease", line["agent"]), ("release", line["agent"]))
    ]
    asks = [line for line in asked if line["operation"] == "lease"]
    assert ends == {"type": "ends", "ms": ends["ms"], "asks": len(asks), "grants": 50}
    assert all(a["ms"] <= b["ms"] for a, b in pairwise([*asked, ends]))


async def test_it_counts_as_one_call_and_leaves_nothing_behind(trial, a_few):
    answer = await trial.call("POST", STAMPEDE, {"resource": FILE})
    assert rate_limit(answer) == 34
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 1
    picture = (await trial.wait()).json()
    assert (picture["holders"], picture["queue"]) == ([], [])


async def test_its_receipts_are_signed_and_say_that_nobody_signed_the_requests(trial, a_few):
    begins, *asked, _ = told(await trial.call("POST", STAMPEDE, {"resource": FILE}))
    published = jwt.PyJWKSet.from_dict((await trial.call("GET", "/.well-known/jwks.json")).json())
    for line in asked:
        receipt = line["answer"].pop("receipt")
        # `iat` is of the authority's clock, which tests move ahead.
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
    """What there is of the workspace in each table that a lease leaves something in."""
    found = {}
    for alias, tables in ROWS.items():
        with connections[alias].cursor() as cursor:
            for table in tables:
                cursor.execute(f"SELECT count(*) FROM {table} WHERE workspace = %s", [workspace])
                found[table] = cursor.fetchone()[0]
    return found


async def ledger_up_to_date(trial, db, workspace) -> dict[str, int]:
    """The rows of the workspace once the ledger has a lease that the trial asks for now."""
    before = await db(rows_of, workspace)
    assert (await trial.lease("lock:own", trial.agent.did)).status_code == 200
    async with asyncio.timeout(20):
        while (found := await db(rows_of, workspace))["ledger_entry"] == before["ledger_entry"]:
            await asyncio.sleep(0.02)
    return found


async def test_a_run_leaves_nothing_on_the_disk(trial, db, in_haste):
    """One call of a stranger would else be a hundred entries in a ledger that is kept for good."""
    workspace = (await trial.call("GET", TRIAL)).json()["workspace"]
    for _ in range(2):
        assert told(await trial.call("POST", STAMPEDE, {"resource": FILE}))[-1]["grants"] == 50
    found = await ledger_up_to_date(trial, db, workspace)
    assert (found["ledger_entry"], found["lease_agent"], found["lease_trust_move"]) == (1, 1, 0)
    assert found["lease_outbox"] == 0
    assert not authority.passing


async def test_nor_does_a_run_whose_caller_goes_away(trial, db, monkeypatch):
    """Every reader holds the file when it does; what is given back then is on no record either."""
    monkeypatch.setattr(stampede, "WORK_S", 30.0)
    workspace = (await trial.call("GET", TRIAL)).json()["workspace"]
    run = stampede.Stampede(workspace, "file:report", Mode.SHARED, "sha-256=:x:")
    lines = run.lines()
    async for line in lines:
        if line["type"] == "answer":
            break
    await lines.aclose()
    async with asyncio.timeout(20):
        while authority.passing:
            await asyncio.sleep(0.02)
    found = await ledger_up_to_date(trial, db, workspace)
    assert (found["ledger_entry"], found["lease_agent"], found["lease_trust_move"]) == (1, 1, 0)
    assert (await trial.wait("file:report")).json()["holders"] == []


async def test_a_resource_that_another_keeps_ends_the_run_in_time(trial, monkeypatch):
    monkeypatch.setattr(stampede, "LONGEST_S", 0.3)
    own = trial.agent.did
    assert (await trial.lease(FILE, own)).status_code == 200
    *_, ends = told(await trial.call("POST", STAMPEDE, {"resource": FILE}))
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
    lines = told(await trial.call("POST", STAMPEDE, {"resource": FILE}))
    assert [line["reason"] for line in lines if line["type"] == "problem"] == ["authority_unavailable"]
    picture = (await trial.wait()).json()
    assert (picture["holders"], picture["queue"]) == ([], [])


async def test_one_run_at_a_time(trial, a_few):
    second = Caller(agent=trial.agent)
    answers = await asyncio.gather(
        *(caller.call("POST", STAMPEDE, {"resource": FILE}) for caller in (trial, second))
    )
    await second.close()
    assert sorted(answer.status_code for answer in answers) == [200, 429]
    refused = max(answers, key=lambda answer: answer.status_code)
    assert problem(refused, 429, "rate_limited")["detail"].startswith("A stampede is running already")
    assert (await trial.call("GET", TRIAL)).json()["callsUsed"] == 2
    assert told(await trial.call("POST", STAMPEDE, {"resource": FILE}))[-1]["grants"] == 10


async def test_only_a_trial_may_run_it(caller):
    problem(await caller.call("POST", STAMPEDE, {"resource": FILE}), 403, "forbidden")


@pytest.mark.parametrize("body", [{}, {"resource": ""}, {"resource": 7}, {"resource": "a#b#c"}])
async def test_a_resource_that_is_none(trial, body):
    problem(await trial.call("POST", STAMPEDE, body), 422, "invalid_request")


async def test_another_key_has_another_workspace(visitor, trial, a_few):
    other = Caller(agent=Agent())
    await other.call("POST", f"{TRIAL}/keys", {"did": other.agent.did})
    lines = told(await other.call("POST", STAMPEDE, {"resource": FILE}))
    await other.close()
    assert lines[-1]["grants"] == 10
    assert (await trial.lease(FILE, trial.agent.did)).json()["lease"]["fencingToken"] == 1
