"""Receipts of a workspace: whether the ledger has them, how they are found, and what they hide."""

import re

import orjson

from coordination.models import LeaseRow, OutboxRow
from coordination.read import history
from intramedial.ledger import entries
from intramedial.ledger.models import Entry
from intramedial.receipts import receipt as receipts
from intramedial.receipts.receipt import read_receipt
from tests.records.conftest import Conduct
from tests.records.pages import ANA, BEA, body, entered, path, settled


def test_a_receipt_waits_and_then_is_in_the_ledger(workspace, browse, conduct: Conduct):
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


def test_the_id_of_a_held_lease_is_hidden(workspace, browse, conduct: Conduct):
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


def test_a_waiting_receipt_has_the_signature_of_the_answer(workspace, browse, conduct: Conduct, monkeypatch):
    [entry] = entered(workspace.public_id, 1)
    jws = Entry.objects.get(receipt_id=entry).leaf
    claims = read_receipt(jws)
    signed = orjson.dumps(claims)
    waiting = history.Pending(entry, "", signed, claims)
    monkeypatch.setattr(history, "pending_one", lambda workspace, receipt_id: waiting)
    client = browse()
    assert "pendiente" in body(client.get(path("receipt", workspace, entry)))
    assert client.get(path("receipt_json", workspace, entry)).json()["jws"] == jws


def test_receipts_are_found_by_their_claims(workspace, browse):
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


def test_a_search_reads_a_limited_number_and_can_be_continued(workspace, browse, monkeypatch):
    monkeypatch.setattr(entries, "WINDOW", 10)
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


def test_receipts_are_listed_in_pages(workspace, browse):
    ids = entered(workspace.public_id, 120)
    client, address, seen = browse(), path("receipts", workspace), []
    while address:
        text = body(client.get(address))
        seen += re.findall(r"recibos/(rcp_\w+)/", text)
        following = re.search(r'href="(\?antes=\d+)"', text)
        address = following and path("receipts", workspace) + following[1]
    assert seen == ids[::-1]


def test_the_signing_keys_are_named(workspace, browse):
    text = body(browse().get(path("receipts", workspace)))
    assert receipts.signing.current().kid in text
    assert "firma ahora" in text


def test_the_page_shows_the_resource_of_a_refusal(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA, "lock:first")
    conduct.acquire(BEA, "lock:second")
    conduct.acquire(ANA, "lock:second")
    conduct.acquire(BEA, "lock:first")  # a deadlock
    settled(workspace.public_id)
    [entry] = [
        entry
        for entry in Entry.objects.filter(workspace=workspace.public_id)
        if read_receipt(entry.leaf)["outcome"] == "deadlock"
    ]
    client = browse()
    assert "<bdi>lock:first</bdi>" in body(client.get(path("receipt", workspace, entry.receipt_id)))
    listed = body(client.get(path("receipts", workspace), {"resultado": "deadlock", "recurso": "lock:first"}))
    assert entry.receipt_id in listed
