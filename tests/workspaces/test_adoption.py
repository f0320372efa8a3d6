"""A visitor's trial becomes a workspace of an account: once, and only with the trial's key."""

import time
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from intramedial.audit.models import Entry
from intramedial.http.problems import Problem
from intramedial.identity import proofs
from intramedial.workspaces import provision, trials
from intramedial.workspaces.authentication.signers import find_place
from intramedial.workspaces.models import Trial, Workspace
from tests.people import person
from tests.signing import Agent

ADOPT = "/espacios/prueba/"


@pytest.fixture
def trial(migrated_databases: None) -> Agent:
    """The key that began a trial of two agents."""
    agent = Agent()
    trials.begin(agent.did, agent.did)
    trials.add_agent(agent.did, Agent().did)
    return agent


def given(visitor, agent: Agent, **changed) -> dict:
    """The form, signed by a key."""
    once = visitor.get(ADOPT).context["form"]["once"].value()
    claims = {"did": agent.did, "for": once, "aud": django_settings.BASE_URL, "iat": int(time.time())}
    proof = agent.jws(changed.pop("typ", proofs.ADOPTION), claims | changed)
    return {"name": "Mía", "did": agent.did, "proof": proof, "once": once}


def test_the_agents_go_on_uncounted_in_the_same_workspace(newcomer, trial):
    before = trials.find(trial.did)
    form = given(newcomer, trial)
    answers = [newcomer.post(ADOPT, form).json() for _ in range(2)]
    path = f"/espacios/{before.workspace}/"
    assert answers == [{"workspace": before.workspace, "path": path}] * 2
    workspace = Workspace.objects.get(public_id=before.workspace)
    assert workspace.name == "Mía"
    assert workspace.memberships.get().user == newcomer.user
    for did in (trial.did, *before.agents):
        place = find_place(did, None, timezone.now())
        assert place.workspace == workspace
        assert place.trial is None
    assert Entry.objects.filter(workspace=before.workspace, action="trial.adopted").count() == 1
    assert newcomer.get(path).status_code == 200
    with pytest.raises(Problem, match="trial"):
        trials.begin(trial.did, "elsewhere")
    Trial.objects.filter(did=trial.did).update(expires_at=timezone.now() - timedelta(days=1))
    provision.purge_trials()
    assert Workspace.objects.filter(pk=workspace.pk).exists()


def test_only_one_person_adopts_a_trial(newcomer, visitor, trial):
    late = visitor(person())
    assert "path" in newcomer.post(ADOPT, given(newcomer, trial)).json()
    answer = late.post(ADOPT, given(late, trial))
    assert answer.status_code == 422
    assert "__all__" in answer.json()["errors"]
    assert not late.user.memberships.exists()


def test_a_proof_is_for_the_person_whose_page_asked_for_it(newcomer, visitor, trial):
    thief = visitor(person())
    form = given(newcomer, trial)
    assert thief.post(ADOPT, form).status_code == 422
    own = thief.get(ADOPT).context["form"]["once"].value()
    assert thief.post(ADOPT, form | {"once": own}).status_code == 422
    assert not thief.user.memberships.exists()


@pytest.mark.parametrize(
    "changed",
    [{"aud": "https://elsewhere.example"}, {"iat": 0}, {"for": "x"}, {"typ": proofs.TYPE}],
    ids=str,
)
def test_another_proof_is_refused(newcomer, trial, changed):
    assert newcomer.post(ADOPT, given(newcomer, trial, **changed)).status_code == 422
    assert not newcomer.user.memberships.exists()


def test_missing_and_expired_trials_are_refused(newcomer, trial):
    assert newcomer.post(ADOPT, given(newcomer, Agent())).status_code == 422
    Trial.objects.filter(did=trial.did).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert newcomer.post(ADOPT, given(newcomer, trial)).status_code == 422


def test_the_name_and_the_limit_of_workspaces_are_checked(newcomer, trial, settings):
    answer = newcomer.post(ADOPT, given(newcomer, trial) | {"name": "a\u202eb"})
    assert list(answer.json()["errors"]) == ["name"]
    settings.PERSON_WORKSPACES = 0
    assert newcomer.post(ADOPT, given(newcomer, trial)).status_code == 422
    assert not newcomer.user.memberships.exists()
