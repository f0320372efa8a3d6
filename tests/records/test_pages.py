"""Who sees the records of a workspace, with any address and with databases databases_away; and its usage."""

import pytest
from django.db import Error

from coordination.authority.process import StorageFault
from coordination.read import history
from intramedial.workspaces import provision
from tests.people import client_of, member
from tests.records.conftest import Conduct
from tests.records.pages import ANA, BEA, body, entered, path

ROLES = ("viewer", "member", "owner")
PAGES = ("agents", "receipts", "usage")


@pytest.mark.parametrize("role", ROLES)
def test_every_member_sees_the_records(workspace, browse, conduct: Conduct, role):
    conduct.acquire(ANA)
    client = browse(role)
    for name in PAGES:
        body(client.get(path(name, workspace)))
    body(client.get(path("agent", workspace), {"did": ANA}))


def test_only_members_see_the_records(workspace, client, conduct: Conduct):
    conduct.acquire(ANA)
    [receipt_id] = entered(workspace.public_id, 1)
    other = client_of(member(provision.create_workspace("otro")))
    paths = [
        *(path(name, workspace) for name in PAGES),
        f"{path('agent', workspace)}?did={ANA}",
        path("receipt", workspace, receipt_id),
        path("receipt_json", workspace, receipt_id),
    ]
    for address in paths:
        assert other.get(address).status_code == 404
        assert client.get(address).status_code == 302


def test_a_receipt_or_an_agent_of_another_workspace_is_not_found(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA)
    [receipt_id] = entered(workspace.public_id, 1)
    other = provision.create_workspace("otro")
    client = client_of(member(other))
    assert client.get(path("receipt", other, receipt_id)).status_code == 404
    assert client.get(path("receipt_json", other, receipt_id)).status_code == 404
    assert client.get(path("agent", other), {"did": ANA}).status_code == 404


@pytest.mark.parametrize("receipt_id", ["rcp_unknown", "x", "rcp_%00", "rcp_" + "a" * 200, "..%2f"])
def test_a_bad_receipt_id_is_not_found(workspace, browse, receipt_id):
    assert browse().get(path("receipts", workspace) + receipt_id + "/").status_code == 404


@pytest.mark.parametrize(
    "did", ["", "x", "did:", "did:example:unknown", "did:\x00", "did:example:" + "a" * 300]
)
def test_a_bad_did_is_not_found(workspace, browse, did):
    assert browse().get(path("agent", workspace), {"did": did}).status_code == 404


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("text", ["\x00", "-1", "9" * 400, "١", "'", "did:\x00", "ñ" * 5000])
def test_any_value_in_the_address_is_answered(workspace, browse, name, text):
    query = dict.fromkeys(("antes", "despues", "agente", "recurso", "resultado", "recibo"), text)
    body(browse().get(path(name, workspace), query))


def test_usage_shows_the_numbers(workspace, browse, api_key, conduct: Conduct):
    conduct.acquire(ANA)
    conduct.acquire(BEA)
    conduct.acquire(ANA, "lock:b")
    assert history.counts(workspace.public_id) == {"resources": 2, "leases": 2, "waits": 1, "agents": 2}
    entered(workspace.public_id, 3)
    text = body(browse().get(path("usage", workspace)))
    assert "coordination.admit" in text


@pytest.fixture
def databases_away(monkeypatch):
    """Neither the authority's tables nor the ledger answer."""

    class Away:
        def __getattr__(self, name):
            raise Error("planted")

    async def unavailable(*args):
        raise StorageFault("planted")

    for row in ("AgentRow", "OutboxRow", "TenantRow", "TrustMoveRow"):
        monkeypatch.setattr(f"coordination.read.history.{row}.objects", Away())
    monkeypatch.setattr("intramedial.ledger.entries.Entry.objects", Away())
    for read in ("agent", "agents", "lease"):
        monkeypatch.setattr(f"coordination.read.current.{read}", unavailable)


@pytest.mark.parametrize("name", [*PAGES, "agent", "receipt", "receipt_json"])
def test_a_missing_database_has_a_message_and_is_no_server_error(workspace, browse, databases_away, name):
    args = ["rcp_any"] if name.startswith("receipt") and name != "receipts" else []
    answer = browse().get(path(name, workspace, *args), {"did": ANA})
    assert answer.status_code == 503
    if name != "receipt_json":
        assert "no contesta" in answer.content.decode()
