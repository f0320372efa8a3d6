"""Authentication by signed requests: registered agents, replays, refusals."""

import asyncio
import dataclasses
from datetime import UTC, datetime

import pytest
from django.db import OperationalError

from intramedial.http.calls import Principal
from intramedial.http.problems import Problem
from intramedial.identity import signatures
from intramedial.workspaces import provision
from intramedial.workspaces.authentication import signers
from intramedial.workspaces.authentication.callers import Authenticator
from intramedial.workspaces.models import Nonce, RegisteredAgent
from tests.identity.conftest import BODY, DAY_S, START, calls_used, lease, refusal
from tests.signing import Agent


def register(agent, workspace):
    return RegisteredAgent.objects.create(workspace=workspace, did=agent.did)


# --- registered agents


async def test_a_registered_agent_signs_without_a_trial(authenticator, agent, workspace, clock, in_thread):
    await in_thread(register, agent, workspace)
    principal = await authenticator.authenticate(lease(agent, clock))
    assert principal == Principal(workspace.public_id, "signature", agent.did, False, {}, None)


async def test_a_revoked_registration_ends_at_once(authenticator, agent, workspace, clock, in_thread):
    registered = await in_thread(register, agent, workspace)
    await authenticator.authenticate(lease(agent, clock))
    registered.revoked_at = datetime.now(UTC)
    await in_thread(registered.save)
    assert (await refusal(authenticator.authenticate(lease(agent, clock)))).reason == "unauthenticated"


async def test_an_agent_of_several_workspaces_must_name_one(
    authenticator, agent, workspace, clock, in_thread
):
    other = await in_thread(provision.create_workspace, "another")
    await in_thread(register, agent, workspace)
    await in_thread(register, agent, other)
    problem = await refusal(authenticator.authenticate(lease(agent, clock)))
    assert problem.reason == "unauthenticated"
    assert "Intramedial-Workspace" in problem.detail
    for chosen in (workspace, other):
        headers = {"intramedial-workspace": chosen.public_id}
        principal = await authenticator.authenticate(lease(agent, clock, headers=headers))
        assert principal.workspace == chosen.public_id


async def test_the_named_workspace_must_be_signed_and_its_own(
    authenticator, agent, workspace, clock, in_thread
):
    await in_thread(register, agent, workspace)
    other = await in_thread(provision.create_workspace, "another")
    headers = {"intramedial-workspace": other.public_id}
    problem = await refusal(authenticator.authenticate(lease(agent, clock, headers=headers)))
    assert problem.reason == "unauthenticated"
    parts = lease(agent, clock)
    unsigned = dataclasses.replace(parts, headers={**parts.headers, **headers})
    assert (await refusal(authenticator.authenticate(unsigned))).reason == "bad_signature"


async def test_an_agent_with_a_trial_and_a_registration_must_name_one(
    authenticator, agent, trial, workspace, clock, in_thread
):
    await in_thread(register, agent, workspace)
    assert (await refusal(authenticator.authenticate(lease(agent, clock)))).reason == "unauthenticated"
    for public_id, in_trial in ((workspace.public_id, False), (trial.workspace.public_id, True)):
        principal = await authenticator.authenticate(
            lease(agent, clock, headers={"intramedial-workspace": public_id})
        )
        assert (principal.workspace, principal.trial is not None) == (public_id, in_trial)
    clock.now += 8 * DAY_S  # an expired trial can no longer be chosen
    assert (await authenticator.authenticate(lease(agent, clock))).workspace == workspace.public_id


async def test_an_unknown_key_is_unauthenticated_and_leaves_nothing(authenticator, agent, clock, in_thread):
    before = await in_thread(Nonce.objects.count)
    problem = await refusal(authenticator.authenticate(lease(agent, clock)))
    assert (problem.reason, problem.status) == ("unauthenticated", 401)
    assert "www-authenticate" in problem.headers
    assert await in_thread(Nonce.objects.count) == before


# --- replays


async def test_a_request_is_used_once(authenticator, agent, trial, clock, in_thread):
    parts = lease(agent, clock)
    await authenticator.authenticate(parts)
    problem = await refusal(authenticator.authenticate(parts))
    assert (problem.reason, problem.status) == ("replayed", 401)
    assert await in_thread(calls_used, trial) == 1


async def test_one_of_many_concurrent_copies_passes(authenticator, agent, trial, clock, in_thread):
    authenticators, parts = [authenticator, Authenticator(clock)], lease(agent, clock)
    try:
        answers = await asyncio.gather(
            *(authenticators[at % 2].authenticate(parts) for at in range(20)), return_exceptions=True
        )
    finally:
        authenticators[1].close()
    assert sum(isinstance(answer, Principal) for answer in answers) == 1
    assert [answer.reason for answer in answers if isinstance(answer, Problem)] == ["replayed"] * 19
    assert await in_thread(calls_used, trial) == 1


async def test_a_nonce_is_used_up_for_any_other_request(authenticator, agent, trial, clock):
    await authenticator.authenticate(lease(agent, clock, nonce="n"))
    other = agent.request("GET", "/api/v1/trial", created=clock.now + 5, nonce="n", label="another")
    assert (await refusal(authenticator.authenticate(other))).reason == "replayed"


async def test_different_keys_may_use_the_same_nonce(
    authenticator, agent, trial, workspace, clock, in_thread
):
    second = Agent()
    await in_thread(register, second, workspace)
    await authenticator.authenticate(lease(agent, clock, nonce="n"))
    await authenticator.authenticate(lease(second, clock, nonce="n"))


async def test_a_nonce_is_kept_while_its_signature_is_valid(authenticator, agent, trial, clock, in_thread):
    parts = lease(agent, clock)
    await authenticator.authenticate(parts)
    clock.now = START + signatures.MAX_VALIDITY_S + signatures.MAX_SKEW_S
    await in_thread(signers.sweep_nonces, clock.now)
    assert (await refusal(authenticator.authenticate(parts))).reason == "replayed"
    clock.now += 1
    assert (await refusal(authenticator.authenticate(parts))).reason == "bad_signature"


async def test_old_nonces_are_deleted(authenticator, agent, trial, clock, in_thread):
    old = await in_thread(
        Nonce.objects.create, key_and_nonce="old", expires_at=datetime.fromtimestamp(START - 1, UTC)
    )
    await authenticator.authenticate(lease(agent, clock))
    authenticator.close()
    assert not await in_thread(Nonce.objects.filter(pk=old.pk).exists)
    assert await in_thread(Nonce.objects.filter(expires_at=datetime.fromtimestamp(START + 90, UTC)).exists)


def test_a_sweep_is_bounded(monkeypatch):
    monkeypatch.setattr(signers, "SWEEP_ROWS", 3)
    long_ago = datetime.fromtimestamp(1_000_000, UTC)
    Nonce.objects.bulk_create(
        Nonce(key_and_nonce=f"sweep-{number}", expires_at=long_ago) for number in range(5)
    )
    assert [signers.sweep_nonces(1_000_001.0) for _ in range(3)] == [3, 2, 0]


# --- refused requests


async def test_a_bad_signature_says_what_is_wrong(authenticator, agent, trial, clock, in_thread):
    parts = lease(agent, clock)
    clock.now += 3600
    problem = await refusal(authenticator.authenticate(parts))
    assert (problem.reason, problem.status) == ("bad_signature", 401)
    assert "server's time" in problem.detail
    tampered = dataclasses.replace(lease(agent, clock), body=BODY + b" ")
    assert "Content-Digest" in (await refusal(authenticator.authenticate(tampered))).detail
    assert await in_thread(calls_used, trial) == 0


async def test_a_key_and_a_signature_together_are_refused(authenticator, agent, trial, api_key, clock):
    parts = lease(agent, clock)
    both = dataclasses.replace(parts, headers={**parts.headers, "authorization": f"Bearer {api_key}"})
    problem = await refusal(authenticator.authenticate(both))
    assert problem.reason == "unauthenticated"
    assert api_key not in problem.detail


@pytest.mark.parametrize("field", ["signature", "signature-input"])
async def test_half_a_signature_is_a_bad_signature(authenticator, agent, trial, clock, field):
    parts = lease(agent, clock)
    half = dataclasses.replace(parts, headers={k: v for k, v in parts.headers.items() if k != field})
    assert (await refusal(authenticator.authenticate(half))).reason == "bad_signature"


async def test_a_database_fault_has_its_own_answer(authenticator, agent, trial, clock, monkeypatch):
    def broken(*_):
        raise OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(signers, "_spend_call", broken)
        problem = await refusal(authenticator.authenticate(lease(agent, clock, nonce="n")))
    assert (problem.reason, problem.status) == ("authority_unavailable", 503)
    # The fault left nothing: the same nonce is still good, and no call was counted.
    assert (await authenticator.authenticate(lease(agent, clock, nonce="n"))).trial.calls_used == 1


# --- a key that is not known yet


async def test_a_new_key_proves_itself_once(authenticator, agent, clock):
    parts = lease(agent, clock, nonce="n")
    assert await authenticator.proven_key(parts) == signatures.SignedBy(
        agent.did, agent.public_key, "n", int(START) + 90
    )
    assert (await refusal(authenticator.proven_key(parts))).reason == "replayed"
    unsigned = dataclasses.replace(parts, headers={})
    assert (await refusal(authenticator.proven_key(unsigned))).reason == "unauthenticated"
    tampered = dataclasses.replace(lease(agent, clock), method="PUT")
    assert (await refusal(authenticator.proven_key(tampered))).reason == "bad_signature"
