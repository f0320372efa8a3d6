"""Agents that are registered with a proof that they hold their key."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from intramedial.audit.models import Entry
from intramedial.identity import proofs
from intramedial.workspaces import provision
from intramedial.workspaces.models import RegisteredAgent
from tests.people import member
from tests.signing import Agent

PROOF = Path(__file__).resolve().parents[2] / "static" / "cli" / "proof.py"


def proof(agent: Agent, place, **changed) -> str:
    """A correct proof, except for what is changed."""
    claims = {"did": agent.did, "workspace": place.public_id, "aud": django_settings.BASE_URL}
    claims |= {"iat": int(time.time())}
    return agent.jws(changed.pop("typ", proofs.TYPE), claims | changed)


def test_the_program_of_the_page_makes_a_valid_proof(owner, at, workspace, tmp_path):
    command = [sys.executable, str(PROOF), str(tmp_path / "agent.pem"), "--workspace", workspace.public_id]
    command += ["--url", django_settings.BASE_URL]
    (did, text), (same, _again) = (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)
    )
    assert did == same
    assert (tmp_path / "agent.pem").stat().st_mode & 0o777 == 0o600
    assert owner.fill(at("firmas/"), did=did, proof=f" {text[:80]}\n{text[80:]} ").status_code == 302
    assert workspace.agents.get().did == did


def test_registering_again_changes_nothing(owner, at, workspace):
    agent = Agent()
    for _ in range(2):
        assert owner.fill(at("firmas/"), did=agent.did, proof=proof(agent, workspace)).status_code == 302
    assert workspace.agents.count() == 1
    assert Entry.objects.filter(workspace=workspace.public_id).count() == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"workspace": "ws_another"},
        {"aud": "https://elsewhere.example"},
        {"iat": int(time.time()) - 3_600},
        {"iat": int(time.time()) + 3_600},
        {"iat": "now"},
        {"did": Agent("another").did},
        {"typ": proofs.ADOPTION},
        {"typ": "JWT"},
    ],
    ids=["workspace", "audience", "an hour old", "an hour ahead", "no time", "DID", "adoption", "any type"],
)
def test_a_proof_for_another_purpose_is_refused(owner, at, workspace, changed):
    agent = Agent()
    answer = owner.fill(at("firmas/"), did=agent.did, proof=proof(agent, workspace, **changed))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["proof"]
    assert agent.did in answer.content.decode()
    assert not workspace.agents.exists()


def test_a_proof_by_another_key_is_refused(owner, at, workspace):
    agent, thief = Agent(), Agent()
    thief.did = agent.did
    assert owner.fill(at("firmas/"), did=agent.did, proof=proof(thief, workspace)).status_code == 422


@pytest.mark.parametrize("text", ["x", "a.b.c", "é.é.é", ".", "..", "x" * 5_000, "bnVsbA.bnVsbA.bnVsbA"])
def test_a_text_that_is_no_proof_is_refused(owner, at, text):
    assert owner.fill(at("firmas/"), did=Agent().did, proof=text).status_code == 422


@pytest.mark.parametrize("did", ["", "did:web:a.example", "did:key:z6Mkx", "did:key:z" + "1" * 300])
def test_only_a_key_that_can_sign_is_registered(owner, at, did):
    answer = owner.fill(at("firmas/"), did=did, proof="x")
    assert answer.status_code == 422
    assert "did" in answer.context["form"].errors


def test_an_agent_is_revoked_and_registered_again(owner, at, workspace):
    agent = Agent()
    owner.fill(at("firmas/"), did=agent.did, proof=proof(agent, workspace))
    number = workspace.agents.get().pk
    for _ in range(2):
        assert owner.post(at(f"firmas/{number}/revocar/")).status_code == 302
    assert workspace.agents.get().revoked_at
    assert owner.fill(at("firmas/"), did=agent.did, proof=proof(agent, workspace)).status_code == 302
    assert workspace.agents.get().revoked_at is None
    acts = Entry.objects.filter(workspace=workspace.public_id).order_by("pk").values_list("action", flat=True)
    assert list(acts) == ["agent.registered", "agent.revoked", "agent.registered"]


def test_registering_has_a_limit_and_needs_a_role(owner, at, workspace, visitor, settings):
    settings.WORKSPACE_AGENTS = 1
    first, second = Agent(), Agent()
    assert owner.fill(at("firmas/"), did=first.did, proof=proof(first, workspace)).status_code == 302
    assert owner.fill(at("firmas/"), did=second.did, proof=proof(second, workspace)).status_code == 422
    foreign = RegisteredAgent.objects.create(workspace=provision.create_workspace("x"), did=second.did)
    assert owner.post(at(f"firmas/{foreign.pk}/revocar/")).status_code == 404
    viewer = visitor(member(workspace, "viewer"))
    assert first.did in viewer.get(at("firmas/")).content.decode()
    assert viewer.post(at("firmas/"), {"did": second.did}).status_code == 403
    assert viewer.post(at(f"firmas/{workspace.agents.get().pk}/revocar/")).status_code == 403
