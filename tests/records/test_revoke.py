"""A revoked lease: only that lease ends, no trust moves, the next waiter gets an offer, and the audit log
has an entry in any case."""

import pytest
from django.test import RequestFactory

from coordination.api.revoke import NotRevoked, RevokeForm, held, revoke
from coordination.authority import process as authority
from coordination.core.messages import Granted, NotReleased
from coordination.models import AgentRow
from intramedial.audit.models import Entry
from tests.people import person
from tests.records.conftest import Conduct

ANA, BEA = "did:example:ana", "did:example:bea"


@pytest.fixture
def request_():
    """A person's request."""
    request = RequestFactory().post("/")
    request.user = person()
    return request


def entries(workspace: str) -> list[tuple[str, dict]]:
    """The workspace's entries in the audit log, oldest first."""
    return list(Entry.objects.filter(workspace=workspace).order_by("pk").values_list("action", "detail"))


def test_a_revocation_ends_the_lease_moves_no_trust_and_offers_to_the_next(conduct: Conduct, request_):
    token = conduct.acquire(ANA).lease.token
    conduct.acquire(BEA)
    revoke(request_, conduct.workspace, "lock:a", ANA, token, "se colgó")
    assert held(conduct.workspace, "lock:a", ANA) is None
    assert AgentRow.objects.get(workspace=conduct.workspace, did=ANA).score == 500
    assert isinstance(conduct.release(ANA), NotReleased)
    assert conduct.acquire(BEA).lease.token > token
    [(action, detail)] = entries(conduct.workspace)
    assert action == "lease.revoked"
    assert detail == {"agent": ANA, "token": token, "reason": "se colgó"}
    assert Entry.objects.get(workspace=conduct.workspace).actor == request_.user.pk


def test_a_renewed_lease_is_revoked_by_its_id(conduct: Conduct, request_):
    token = conduct.acquire(ANA).lease.token
    conduct.passes(1_000)
    conduct.acquire(ANA)
    revoke(request_, conduct.workspace, "lock:a", ANA, token, "motivo")
    assert held(conduct.workspace, "lock:a", ANA) is None


def test_a_later_lease_is_not_revoked(conduct: Conduct, request_):
    token = conduct.acquire(ANA).lease.token
    conduct.release(ANA)
    conduct.acquire(ANA)
    with pytest.raises(NotRevoked):
        revoke(request_, conduct.workspace, "lock:a", ANA, token, "motivo")
    assert held(conduct.workspace, "lock:a", ANA) is not None
    assert entries(conduct.workspace) == []


def test_a_second_revocation_changes_nothing(conduct: Conduct, request_):
    token = conduct.acquire(ANA).lease.token
    revoke(request_, conduct.workspace, "lock:a", ANA, token, "motivo")
    with pytest.raises(NotRevoked):
        revoke(request_, conduct.workspace, "lock:a", ANA, token, "motivo")
    assert len(entries(conduct.workspace)) == 1


def test_an_expired_lease_is_not_held(conduct: Conduct, request_):
    token = conduct.acquire(ANA).lease.token
    conduct.passes(30_000)
    with pytest.raises(NotRevoked):
        revoke(request_, conduct.workspace, "lock:a", ANA, token, "motivo")


def test_a_lease_that_ends_meanwhile_is_reported_as_ended(conduct: Conduct, request_, monkeypatch):
    granted = conduct.acquire(ANA)
    assert isinstance(granted, Granted)
    monkeypatch.setattr("coordination.api.revoke.held", lambda *what: granted.lease)
    conduct.release(ANA)
    with pytest.raises(NotRevoked):
        revoke(request_, conduct.workspace, "lock:a", ANA, granted.lease.token, "motivo")
    assert [action for action, _ in entries(conduct.workspace)] == ["lease.revoked", "lease.revoke_missed"]


def test_an_authority_that_does_not_answer_is_in_the_audit_log(conduct: Conduct, request_, monkeypatch):
    granted = conduct.acquire(ANA)
    monkeypatch.setattr("coordination.api.revoke.held", lambda *what: granted.lease)

    async def silent(self, ask):
        raise authority.Unavailable("planted")

    monkeypatch.setattr(authority.Authority, "ask", silent)
    with pytest.raises(NotRevoked):
        revoke(request_, conduct.workspace, "lock:a", ANA, granted.lease.token, "motivo")
    assert [action for action, _ in entries(conduct.workspace)] == [
        "lease.revoked",
        "lease.revoke_unanswered",
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "lock:b"),
        ("name", "LOCK:A"),
        ("name", ""),
        ("reason", ""),
        ("reason", "   "),
        ("reason", "x" * 301),
        ("reason", "dos\nlíneas"),
        ("reason", "al \u202erevés"),
        ("reason", "nulo\x00"),
        ("token", "uno"),
        ("token", str(2**63)),
    ],
)
def test_the_form_refuses_bad_values(field, value):
    given = {"name": "lock:a", "reason": "se colgó", "token": "1"}
    assert RevokeForm(given, resource="lock:a").is_valid()
    form = RevokeForm(given | {field: value}, resource="lock:a")
    assert not form.is_valid()
    assert list(form.errors) == [field]
