"""Authentication by trial keys: the agent they act for, and their thirty-five calls."""

import asyncio
import dataclasses
from datetime import UTC, datetime, timedelta

import http_sf

from intramedial.http.calls import Principal, TrialState
from intramedial.http.problems import Problem
from intramedial.workspaces.authentication import signers
from intramedial.workspaces.authentication.callers import Authenticator
from intramedial.workspaces.models import Trial, TrialAgent, Workspace
from tests.identity.conftest import DAY_S, START, calls_used, lease, refusal
from tests.signing import Agent


async def test_a_trial_key_acts_for_itself_in_its_own_workspace(authenticator, agent, trial, clock):
    principal = await authenticator.authenticate(lease(agent, clock))
    state = TrialState(agent.did, 35, 1, trial.expires_at, window_s=7 * DAY_S)
    assert principal == Principal(
        trial.workspace.public_id, "signature", agent.did, False, {"lock": "shared"}, state
    )
    assert (await refusal(as_coroutine(principal.require_actor, "did:example:b"))).reason == "actor_mismatch"


async def as_coroutine(function, *arguments):
    return function(*arguments)


async def test_only_calls_that_spend_are_counted(authenticator, agent, trial, clock, in_thread):
    assert (await authenticator.authenticate(lease(agent, clock), spend=False)).trial.calls_used == 0
    assert (await authenticator.authenticate(lease(agent, clock))).trial.calls_used == 1
    assert (await authenticator.authenticate(lease(agent, clock))).trial.calls_used == 2
    assert await in_thread(calls_used, trial) == 2


async def test_exactly_35_of_200_parallel_calls_pass(authenticator, agent, trial, clock, in_thread):
    authenticators = [authenticator, Authenticator(clock)]  # as in two processes
    requests = [lease(agent, clock) for _ in range(200)]
    try:
        answers = await asyncio.gather(
            *(authenticators[at % 2].authenticate(parts) for at, parts in enumerate(requests)),
            return_exceptions=True,
        )
    finally:
        authenticators[1].close()
    passed = [answer for answer in answers if isinstance(answer, Principal)]
    assert sorted(principal.trial.calls_used for principal in passed) == list(range(1, 36))
    assert {(answer.reason, answer.status) for answer in answers if isinstance(answer, Problem)} == {
        ("trial_exhausted", 429)
    }
    assert len(answers) - len(passed) == 165
    assert await in_thread(calls_used, trial) == 35


async def test_an_exhausted_trial_is_refused_and_can_still_be_read(
    authenticator, agent, trial, clock, in_thread
):
    await in_thread(Trial.objects.filter(pk=trial.pk).update, calls_used=35)
    problem = await refusal(authenticator.authenticate(lease(agent, clock)))
    assert (problem.reason, problem.status) == ("trial_exhausted", 429)
    assert problem.headers["ratelimit"] == f'"trial";r=0;t={7 * DAY_S}'
    assert (await authenticator.authenticate(lease(agent, clock), spend=False)).trial.calls_used == 35


async def test_a_trial_ends_on_time(authenticator, agent, trial, clock, in_thread):
    clock.now = START + 7 * DAY_S - 1
    assert await authenticator.authenticate(lease(agent, clock))
    clock.now += 1
    for spend in (True, False):
        problem = await refusal(authenticator.authenticate(lease(agent, clock), spend=spend))
        assert (problem.reason, problem.status) == ("trial_expired", 401)
    assert await in_thread(calls_used, trial) == 1


async def test_a_trial_that_ends_within_the_request_is_expired(
    authenticator, agent, trial, clock, monkeypatch
):
    monkeypatch.setattr(signers, "find_place", lambda *_: signers.Place(trial.workspace, trial))
    clock.now = START + 7 * DAY_S
    assert (await refusal(authenticator.authenticate(lease(agent, clock)))).reason == "trial_expired"


async def test_the_key_of_a_purged_trial_is_still_known_as_expired(
    authenticator, agent, trial, clock, in_thread
):
    await in_thread(Workspace.objects.filter(pk=trial.workspace_id).delete)
    for options in ({}, {"headers": {"intramedial-workspace": "ws_gone"}}):
        problem = await refusal(authenticator.authenticate(lease(agent, clock, **options)))
        assert problem.reason == "trial_expired"


async def test_agents_of_one_trial_share_its_calls(authenticator, agent, trial, clock, in_thread):
    second = Agent()
    await in_thread(TrialAgent.objects.create, trial=trial, did=second.did)
    await authenticator.authenticate(lease(agent, clock))
    principal = await authenticator.authenticate(lease(second, clock))
    assert (principal.actor, principal.workspace) == (second.did, trial.workspace.public_id)
    assert (principal.trial.did, principal.trial.calls_used) == (agent.did, 2)


def test_rate_limit_fields_are_structured_fields():
    state = TrialState(
        "did:key:z", 35, 4, datetime.fromtimestamp(START, UTC) + timedelta(days=6), window_s=7 * DAY_S
    )
    fields = state.headers(START)
    assert http_sf.parse(fields["ratelimit-policy"].encode(), tltype="list") == [
        ("trial", {"q": 35, "w": 604_800})
    ]
    assert http_sf.parse(fields["ratelimit"].encode(), tltype="list") == [("trial", {"r": 31, "t": 518_400})]
    over = dataclasses.replace(state, calls_used=40).headers(START + 7 * DAY_S)
    assert over["ratelimit"] == '"trial";r=0;t=0'
