"""Further agents of a trial, with a proof that they hold their keys; and tickets for live sockets."""

import asyncio
import time
from datetime import timedelta

import jwt
import pytest
from django.conf import settings as project
from django.utils import timezone

from intramedial.workspaces import tickets
from intramedial.workspaces.models import RegisteredAgent, Ticket, TrialAgent
from tests.api.client import TRIAL, Caller, rate_limit, reason
from tests.signing import Agent

KEYS, MORE, TICKET = f"{TRIAL}/keys", f"{TRIAL}/agents", f"{TRIAL}/ticket"


def proof(agent: Agent, trial: str, **changes):
    """The proof that `agent` holds its key, made by another library. `changes` replace claims or headers."""
    claims = {"did": agent.did, "trial": trial, "aud": project.BASE_URL, "iat": int(time.time())}
    headers = {"typ": "intramedial-agent+jwt"} | changes.pop("headers", {})
    key = changes.pop("key", agent.private_key)
    return jwt.encode({**claims, **changes}, key, algorithm="EdDSA", headers=headers)


async def test_a_second_agent_shares_the_calls(trial):
    second = Agent()
    body = {"did": second.did, "proof": proof(second, trial.agent.did)}
    answer = await trial.call("POST", MORE, body)
    assert answer.status_code == 201
    assert answer.json()["agents"] == [second.did]
    other = Caller(agent=second)
    assert (await trial.lease("lock:a", trial.agent.did)).status_code == 200
    held = await other.lease("lock:a", second.did)
    assert held.json()["holder"] == trial.agent.did
    assert rate_limit(held) == 33
    assert reason(await other.lease("lock:a", trial.agent.did)) == (403, "actor_mismatch")
    seen = (await other.call("GET", TRIAL)).json()
    assert (seen["did"], seen["callsUsed"], seen["agents"]) == (trial.agent.did, 3, [second.did])
    # Only the key that began the trial may add agents; adding one again changes nothing.
    third = Agent()
    body = {"did": third.did, "proof": proof(third, trial.agent.did)}
    assert reason(await other.call("POST", MORE, body)) == (403, "forbidden")
    body = {"did": second.did, "proof": proof(second, trial.agent.did)}
    assert (await trial.call("POST", MORE, body)).status_code == 200
    await other.close()


async def test_a_trial_has_at_most_eight_agents(trial):
    statuses = []
    for _ in range(8):
        agent = Agent()
        answer = await trial.call("POST", MORE, {"did": agent.did, "proof": proof(agent, trial.agent.did)})
        statuses.append(answer.status_code)
    assert statuses == [201] * 7 + [429]
    assert len((await trial.call("GET", TRIAL)).json()["agents"]) == 7


async def test_a_key_that_belongs_elsewhere_is_no_new_agent(trial, workspace, in_thread):
    elsewhere, registered = Caller(agent=Agent()), Agent()
    await elsewhere.call("POST", KEYS, {"did": elsewhere.agent.did})
    await in_thread(RegisteredAgent.objects.create, workspace=workspace, did=registered.did)
    for agent in (elsewhere.agent, registered):
        answer = await trial.call("POST", MORE, {"did": agent.did, "proof": proof(agent, trial.agent.did)})
        assert reason(answer) == (403, "forbidden")
    second = Agent()
    await trial.call("POST", MORE, {"did": second.did, "proof": proof(second, trial.agent.did)})
    for agent in (second, registered):
        caller = Caller(agent=agent)
        assert reason(await caller.call("POST", KEYS, {"did": agent.did})) == (403, "forbidden")
        await caller.close()
    await elsewhere.close()


async def test_bad_proofs_are_refused(trial, in_thread):
    agent, own = Agent(), trial.agent.did
    now = int(time.time())
    good = proof(agent, own)
    header, claims, signature = good.split(".")
    proofs = [
        "",
        "a",
        "a.b.c",
        "....",
        header + "." + claims,
        f"{header}.{claims}.",
        f"{header}.{claims}.{signature}=",
        f"{header}.{claims}.{signature}\n",
        f"{header}.{claims}.{signature[:-4]}AAAA",
        f"{header}.{claims}é.{signature}",
        f"{header}.{claims}.{signature}.{signature}",
        proof(agent, own, key=Agent().private_key),
        proof(agent, Agent().did),
        proof(agent, own, did=Agent().did),
        proof(agent, own, aud="https://elsewhere.example"),
        proof(agent, own, aud=[project.BASE_URL]),
        proof(agent, own, iat=now - 120),
        proof(agent, own, iat=now + 120),
        proof(agent, own, iat=None),
        proof(agent, own, iat=float(now)),
        proof(agent, own, iat=True),
        proof(agent, own, headers={"typ": "JWT"}),
        proof(agent, own, headers={"crit": ["exp"], "exp": 1}),
        jwt.encode({"did": agent.did, "trial": own}, "x" * 32, algorithm="HS256"),
        jwt.encode({"did": agent.did, "trial": own}, None, algorithm="none"),
    ]
    for text in proofs:
        answer = await trial.call("POST", MORE, {"did": agent.did, "proof": text})
        assert reason(answer) == (422, "invalid_request"), text
        assert answer.json()["errors"][0]["pointer"] == "/proof"
    assert not await in_thread(TrialAgent.objects.filter(did=agent.did).exists)


@pytest.mark.parametrize(
    "did", ["did:web:a.example", "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"]
)
async def test_an_agent_of_a_trial_has_an_ed25519_key(trial, did):
    answer = await trial.call("POST", MORE, {"did": did, "proof": "a.b.c"})
    assert answer.json()["errors"][0]["pointer"] == "/did"


async def test_a_ticket_opens_one_socket_once(trial, in_thread):
    answer = await trial.call("POST", TICKET)
    state = (await trial.call("GET", TRIAL)).json()
    ticket = answer.json()["ticket"]
    assert len(ticket) == 43
    assert not await in_thread(Ticket.objects.filter(sha256__contains=ticket).exists)
    redeemed = await asyncio.gather(*(tickets.redeem(ticket) for _ in range(20)))
    assert sorted(filter(None, redeemed)) == [state["workspace"]]
    assert await tickets.redeem(ticket) is None
    assert await tickets.redeem("") is None
    assert await tickets.redeem("\ud800\0" * 100) is None


async def test_a_ticket_expires_after_thirty_seconds(trial, in_thread):
    ticket = (await trial.call("POST", TICKET)).json()["ticket"]
    soon = timezone.now() + timedelta(seconds=tickets.LIFETIME_S)
    assert await in_thread(Ticket.objects.filter(expires_at__lte=soon).exists)
    await in_thread(Ticket.objects.update, expires_at=timezone.now())
    assert await tickets.redeem(ticket) is None
    await trial.call("POST", TICKET)
    assert await in_thread(Ticket.objects.count) == 1
