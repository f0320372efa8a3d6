"""The records of a workspace: what they show, to whom, and what they keep to themselves."""

import re
from datetime import UTC, datetime

import html5lib
import orjson
import pytest
from django.db import Error
from django.urls import reverse
from django.utils.translation import override

from coordination import history
from coordination.authority import StorageFault
from coordination.ids import new_receipt_id
from coordination.models import LeaseRow, OutboxRow
from intramedial.ledger import log, reading
from intramedial.ledger.models import Entry
from intramedial.receipts import receipt as receipts
from intramedial.receipts.checking import read_receipt
from intramedial.workspaces import provision
from tests.people import client_of, member
from tests.records.conftest import Conduct

ANA, BEA = "did:example:ana", "did:example:bea"
ROLES = ("viewer", "member", "owner")
HOSTILE = "did:example:%3Cscript%3E"
NAMED = 'lock:<b onmouseover="x">&amp;'


def path(name: str, workspace, *args) -> str:
    """The address of a page in Spanish, whatever was spoken before."""
    with override("es"):
        return reverse(name, args=[workspace.public_id, *args])


def body(answer) -> str:
    """The text of a page, which must be one, and valid."""
    assert answer.status_code == 200, answer.status_code
    text = answer.content.decode()
    html5lib.HTMLParser(strict=True).parse(text)
    assert not re.search(r"\{[{%]|%\(", text)
    return text


def settled(workspace: str) -> None:
    """The ledger takes what waits for it, as the drain would."""
    rows = OutboxRow.objects.filter(workspace=workspace)
    log.append(
        [
            (row.receipt_id, workspace, receipts.receipt(bytes(row.claims), row.receipt_id)["jws"])
            for row in rows.order_by("pk")
        ]
    )


def entered(workspace: str, number: int, agent: str = ANA, outcome: str = "granted") -> list[str]:
    """So many receipts in the ledger; their ids, in order."""
    leaves = []
    for at in range(number):
        receipt_id = new_receipt_id()
        claims = receipts.claims(
            iat=1_700_000_000 + at,
            jti=receipt_id,
            sub=agent,
            auth="workspace_key",
            workspace=workspace,
            event="coordination.lease",
            outcome=outcome,
            digest=None,
            result_json=orjson.dumps({"ok": True, "lease": {"leaseId": "lse_x", "resource": f"lock:{at}"}}),
        )
        leaves.append((receipt_id, workspace, receipts.receipt(claims, receipt_id)["jws"]))
    log.append(leaves)
    return [leaf[0] for leaf in leaves]


# --- whose ----------------------------------------------------------------------------------------

PAGES = ("agents", "receipts", "usage")


@pytest.mark.parametrize("role", ROLES)
def test_every_member_sees_them(workspace, browse, conduct: Conduct, role):
    conduct.acquire(ANA)
    client = browse(role)
    for name in PAGES:
        body(client.get(path(name, workspace)))
    body(client.get(path("agent", workspace), {"did": ANA}))


def test_nobody_else_does(workspace, client, conduct: Conduct):
    conduct.acquire(ANA)
    [receipt_id] = entered(workspace.public_id, 1)
    stranger = client_of(member(provision.create_workspace("otro")))
    paths = [
        *(path(name, workspace) for name in PAGES),
        f"{path('agent', workspace)}?did={ANA}",
        path("receipt", workspace, receipt_id),
        path("receipt_json", workspace, receipt_id),
    ]
    for address in paths:
        assert stranger.get(address).status_code == 404
        assert client.get(address).status_code == 302


def test_a_receipt_or_an_agent_of_another_workspace_is_not_there(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA)
    [receipt_id] = entered(workspace.public_id, 1)
    other = provision.create_workspace("otro")
    client = client_of(member(other))
    assert client.get(path("receipt", other, receipt_id)).status_code == 404
    assert client.get(path("receipt_json", other, receipt_id)).status_code == 404
    assert client.get(path("agent", other), {"did": ANA}).status_code == 404


@pytest.mark.parametrize("receipt_id", ["rcp_unknown", "x", "rcp_%00", "rcp_" + "a" * 200, "..%2f"])
def test_what_is_no_receipt_is_not_there(workspace, browse, receipt_id):
    assert browse().get(path("receipts", workspace) + receipt_id + "/").status_code == 404


@pytest.mark.parametrize(
    "did", ["", "x", "did:", "did:example:unknown", "did:\x00", "did:example:" + "a" * 300]
)
def test_what_is_no_agent_is_not_there(workspace, browse, did):
    assert browse().get(path("agent", workspace), {"did": did}).status_code == 404


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("text", ["\x00", "-1", "9" * 400, "١", "'", "did:\x00", "ñ" * 5000])
def test_whatever_stands_in_the_address_is_answered(workspace, browse, name, text):
    query = dict.fromkeys(("antes", "despues", "agente", "recurso", "resultado", "recibo"), text)
    body(browse().get(path(name, workspace), query))


# --- agents ---------------------------------------------------------------------------------------


def test_an_agent_with_what_it_has_done(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA)
    conduct.acquire(BEA)
    conduct.release(ANA)
    conduct.acquire(BEA)
    conduct.passes(30_000)
    conduct.acquire(ANA, "lock:b")
    workspace.agents.create(did=ANA)
    client = browse()
    listed = body(client.get(path("agents", workspace)))
    assert "50,5" in listed
    assert "45,0" in listed
    assert "lock:b" in listed
    assert "firma lo que pide" in listed
    page = body(client.get(path("agent", workspace), {"did": BEA}))
    assert "dejó caducar" in page
    assert "−5,0" in page
    assert "devolvió a tiempo" not in page
    assert "lse_" not in listed + page
    english = body(client.get("/en" + path("agent", workspace), {"did": ANA}))
    assert "+0.5" in english


def test_names_are_shown_as_text(workspace, browse, conduct: Conduct):
    conduct.acquire(HOSTILE, NAMED)
    settled(workspace.public_id)
    client = browse()
    for address in (
        path("agents", workspace),
        f"{path('agent', workspace)}?did={HOSTILE.replace('%', '%25')}",
    ):
        text = body(client.get(address))
        assert "<b onmouseover" not in text
        assert "&lt;b onmouseover" in text
    assert "<b onmouseover" not in body(client.get(path("receipts", workspace)))


def test_agents_go_on_page_by_page(workspace, browse, conduct: Conduct):
    dids = [f"did:example:{number:03}" for number in range(60)]
    for did in dids:
        conduct.acquire(did, f"lock:{did}")
    client, address, seen = browse(), path("agents", workspace), []
    while address:
        text = body(client.get(address))
        seen += re.findall(r'<code title="(did:[^"]+)"', text)
        following = re.search(r'href="(\?despues=[^"]+)"', text)
        address = following and path("agents", workspace) + following[1].replace("&amp;", "&")
    assert seen == dids


def test_a_long_history_goes_on_page_by_page(workspace, browse, conduct: Conduct):
    for _ in range(60):
        conduct.acquire(ANA)
        conduct.release(ANA)
    client = browse()
    first = body(client.get(path("agent", workspace), {"did": ANA}))
    assert first.count("devolvió a tiempo") == 50
    query = re.search(r'href="(\?did=[^"]+antes=\d+)"', first)[1].replace("&amp;", "&")
    rest = body(client.get(path("agent", workspace) + query))
    assert rest.count("devolvió a tiempo") == 10
    assert ">50,5<" in rest  # the first of them all


def test_a_move_that_moved_nothing_is_told_by_where_the_score_is():
    move = history.Move(1, datetime(2026, 1, 1, tzinfo=UTC), delta=0, score=100)
    assert move.released
    assert not history.Move(1, move.at, delta=0, score=0).released


def test_many_resources_are_not_all_named(workspace, browse, conduct: Conduct):
    for number in range(5):
        conduct.acquire(ANA, f"lock:{number}")
    assert "y 2 más" in body(browse().get(path("agents", workspace)))


# --- receipts -------------------------------------------------------------------------------------


def test_a_receipt_waits_and_is_in_the_ledger(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA)
    client = browse()
    row = OutboxRow.objects.filter(workspace=workspace.public_id).first()
    if row is not None:  # the drain may have been quicker
        assert row.receipt_id in body(client.get(path("receipts", workspace)))
    settled(workspace.public_id)
    entry = Entry.objects.get(workspace=workspace.public_id)
    OutboxRow.objects.filter(workspace=workspace.public_id).delete()
    text = body(client.get(path("receipts", workspace)))
    assert f"anotación {entry.index}" in text
    text = body(client.get(path("receipt", workspace, entry.receipt_id)))
    assert "workspace_key" in text
    assert ANA in text


def test_the_id_of_a_lease_that_is_held_is_its_holders_alone(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA)
    lease_id = LeaseRow.objects.get(workspace=workspace.public_id).lease_id
    settled(workspace.public_id)
    receipt_id = Entry.objects.get(workspace=workspace.public_id).receipt_id
    client = browse("owner")
    address = path("receipt", workspace, receipt_id)
    held = body(client.get(address))
    assert "verificar/#" not in held
    assert client.get(path("receipt_json", workspace, receipt_id)).status_code == 403
    conduct.acquire(ANA)  # renewed: the same lease
    assert client.get(path("receipt_json", workspace, receipt_id)).status_code == 403
    conduct.release(ANA)
    over = body(client.get(address))
    assert lease_id not in held + over
    document = client.get(path("receipt_json", workspace, receipt_id)).json()
    assert read_receipt(document["jws"])["jti"] == document["id"] == receipt_id
    assert f"/verificar/#{document['jws']}" in over


def test_a_receipt_that_waits_is_signed_as_the_answer_was(workspace, browse, conduct: Conduct, monkeypatch):
    [entry] = entered(workspace.public_id, 1)
    jws = Entry.objects.get(receipt_id=entry).leaf
    claims = read_receipt(jws)
    signed = orjson.dumps(claims)
    waiting = history.Pending(entry, "", signed, claims)
    monkeypatch.setattr(history, "pending_one", lambda workspace, receipt_id: waiting)
    client = browse()
    assert "pendiente" in body(client.get(path("receipt", workspace, entry)))
    assert client.get(path("receipt_json", workspace, entry)).json()["jws"] == jws


def test_receipts_are_found_by_what_they_say(workspace, browse):
    entered(workspace.public_id, 3, ANA)
    [beas] = entered(workspace.public_id, 1, BEA, "renewed")
    client = browse()

    def found(**query) -> list[str]:
        text = body(client.get(path("receipts", workspace), query))
        return re.findall(r"recibos/(rcp_\w+)/", text)

    assert len(found()) == 4
    assert found(agente=BEA) == found(resultado="renewed") == [beas]
    assert len(found(recurso="lock:0")) == 2
    assert found(agente=BEA, recurso="lock:1") == []
    answer = client.get(path("receipts", workspace), {"recibo": beas})
    assert answer["Location"] == path("receipt", workspace, beas)


def test_a_search_looks_at_so_many_and_goes_on(workspace, browse, monkeypatch):
    monkeypatch.setattr(reading, "WINDOW", 10)
    [first] = entered(workspace.public_id, 1, BEA)
    entered(workspace.public_id, 25, ANA)
    client, address, pages = browse(), f"{path('receipts', workspace)}?agente={BEA}", 0
    while True:
        text = body(client.get(address))
        pages += 1
        following = re.search(r'href="(\?agente=[^"]+antes=\d+)"', text)
        if first in text:
            break
        address = path("receipts", workspace) + following[1].replace("&amp;", "&")
    assert pages == 3
    assert following is None


def test_receipts_go_on_page_by_page(workspace, browse):
    ids = entered(workspace.public_id, 120)
    client, address, seen = browse(), path("receipts", workspace), []
    while address:
        text = body(client.get(address))
        seen += re.findall(r"recibos/(rcp_\w+)/", text)
        following = re.search(r'href="(\?antes=\d+)"', text)
        address = following and path("receipts", workspace) + following[1]
    assert seen == ids[::-1]


def test_the_keys_that_sign_are_named(workspace, browse):
    text = body(browse().get(path("receipts", workspace)))
    assert receipts.signing.current().kid in text
    assert "firma ahora" in text


# --- usage, and what is away ----------------------------------------------------------------------


def test_usage_says_what_there_is(workspace, browse, api_key, conduct: Conduct):
    conduct.acquire(ANA)
    conduct.acquire(BEA)
    conduct.acquire(ANA, "lock:b")
    assert history.counts(workspace.public_id) == {"resources": 2, "leases": 2, "waits": 1, "agents": 2}
    entered(workspace.public_id, 3)
    text = body(browse().get(path("usage", workspace)))
    assert "coordination.admit" in text


@pytest.fixture
def away(monkeypatch):
    """Neither the authority's tables nor the ledger answer."""

    class Away:
        def __getattr__(self, name):
            raise Error("planted")

    async def gone(*args):
        raise StorageFault("planted")

    for row in ("AgentRow", "OutboxRow", "TenantRow", "TrustMoveRow"):
        monkeypatch.setattr(f"coordination.history.{row}.objects", Away())
    monkeypatch.setattr("intramedial.ledger.reading.Entry.objects", Away())
    for read in ("agent", "agents", "lease"):
        monkeypatch.setattr(f"coordination.queries.{read}", gone)


@pytest.mark.parametrize("name", [*PAGES, "agent", "receipt", "receipt_json"])
def test_a_database_that_is_away_is_said_and_is_no_fault(workspace, browse, away, name):
    args = ["rcp_any"] if name.startswith("receipt") and name != "receipts" else []
    answer = browse().get(path(name, workspace, *args), {"did": ANA})
    assert answer.status_code == 503
    if name != "receipt_json":
        assert "no contesta" in answer.content.decode()
