"""The ledger: every entry appended once, in order, without gaps, however many processes append, however
often."""

import concurrent.futures
import threading
from itertools import count

import pytest
from django.db import DatabaseError, connections, router
from django.db.models import Max
from django.urls import reverse

from intramedial.ledger import admin, log
from intramedial.ledger.models import Entry
from intramedial.receipts import receipt, signing
from tests.people import client_of, person

_numbers = count()


def leaves(many=1, workspace="ws_ledger"):
    """Leaves that no other test uses."""
    return [(f"rcp_test{next(_numbers):08}", workspace, f"header.payload.{at}") for at in range(many)]


def indexes(batch):
    by_id = dict(
        Entry.objects.filter(receipt_id__in=[leaf[0] for leaf in batch]).values_list("receipt_id", "index")
    )
    return [by_id[leaf[0]] for leaf in batch]


def assert_gapless():
    last = Entry.objects.aggregate(last=Max("index"))["last"]
    assert Entry.objects.count() == (0 if last is None else last + 1)


def test_a_batch_is_appended_in_its_order():
    first, second = leaves(3), leaves(2)
    assert log.append(first) == 3
    assert log.append(second) == 2
    [start, *_] = indexes(first)
    assert indexes(first + second) == list(range(start, start + 5))
    entry = Entry.objects.get(receipt_id=first[0][0])
    assert (entry.receipt_id, entry.workspace, entry.leaf) == first[0]
    assert_gapless()


def test_repeating_a_batch_changes_nothing():
    batch = leaves(3)
    log.append(batch)
    before = indexes(batch)
    assert log.append(batch) == 0
    assert log.append(batch + leaves(1)) == 1
    assert indexes(batch) == before
    assert_gapless()


def test_a_receipt_twice_in_a_batch_is_appended_once():
    [leaf] = leaves(1)
    assert log.append([leaf, leaf]) == 1
    assert_gapless()


def test_an_empty_batch_changes_nothing():
    assert log.append([]) == 0


def test_a_large_batch_is_one_transaction():
    batch = leaves(1000)
    assert log.append(batch) == 1000
    assert indexes(batch) == list(range(indexes(batch)[0], indexes(batch)[0] + 1000))
    assert_gapless()


def test_a_batch_that_fails_leaves_nothing_and_can_be_repeated(monkeypatch):
    batch = leaves(200)
    before = Entry.objects.count()
    with monkeypatch.context() as patch:
        patch.setattr(log.timezone, "now", lambda: None)  # a row the database refuses
        with pytest.raises(DatabaseError):
            log.append(batch)
    assert Entry.objects.count() == before
    assert log.append(batch) == 200
    assert_gapless()


def test_concurrent_appenders_leave_no_gap_and_no_duplicate():
    shared = leaves(20)
    batches = [leaves(5) + shared for _ in range(4)]
    barrier = threading.Barrier(len(batches))

    def run(batch):
        try:
            barrier.wait()
            return sum(log.append(batch[at : at + 5]) for at in range(0, len(batch), 5))
        finally:
            connections.close_all()

    with concurrent.futures.ThreadPoolExecutor(len(batches)) as pool:
        assert sum(pool.map(run, batches)) == 20 + 4 * 5
    assert_gapless()


def test_entries_live_in_the_ledgers_own_database():
    assert router.db_for_write(Entry) == "ledger"


# --- the admin


@pytest.fixture
def superuser():
    return client_of(person(is_staff=True, is_superuser=True))


def signed_entry(**changes):
    [(receipt_id, workspace, _)] = leaves(1)
    claims = receipt.claims(
        iat=0,
        jti=receipt_id,
        sub="did:example:a",
        auth="workspace_key",
        workspace=workspace,
        event="coordination.lease",
        outcome="granted",
        resource="lock:a",
        digest=None,
        result_json=b"{}",
    )
    log.append([(receipt_id, workspace, receipt.receipt(claims, receipt_id)["jws"])])
    return Entry.objects.get(receipt_id=receipt_id)


def test_verifying_finds_a_changed_entry():
    entry = signed_entry()
    assert failing(entry) == []
    entry.workspace = "ws_other"
    assert failing(entry) == ["Recibo"]
    entry.leaf = entry.leaf[:-8] + "AAAAAAAA"
    assert failing(entry) == ["Firma", "Recibo"]
    _header, claims, signature = entry.leaf.split(".")
    entry.leaf = ".".join((signing.base64url(b'{"kid": "nobody"}').decode(), claims, signature))
    assert failing(entry) == ["Firma", "Clave publicada", "Recibo"]
    entry.leaf = "not.a.receipt"
    assert failing(entry) == ["Firma", "Clave publicada", "Recibo"]


def failing(entry):
    """The names of the checks that an entry fails."""
    [checked] = admin.check([entry])
    return [check.what for check in checked.checks if not check.holds]


def test_verifying_finds_a_gap():
    first = signed_entry()
    signed_entry()
    Entry.objects.filter(pk=first.pk + 1).update(index=first.pk + 2)
    try:
        assert failing(first) == ["Libro"]
    finally:
        Entry.objects.filter(pk=first.pk + 2).update(index=first.pk + 1)
    assert failing(first) == []


def test_the_admin_verifies_and_never_changes(superuser):
    entry = signed_entry()
    listing = reverse("admin:ledger_entry_changelist")
    action = {"action": "verify", "_selected_action": [entry.pk]}
    assert entry.receipt_id in superuser.get(listing).content.decode()
    assert "Se cumple todo: 1 de 1" in superuser.post(listing, action).content.decode()
    Entry.objects.filter(pk=entry.pk).update(leaf="not.a.receipt")
    assert "No se cumple todo en 1 de 1" in superuser.post(listing, action).content.decode()
    assert superuser.get(reverse("admin:ledger_entry_add")).status_code == 403
    assert superuser.post(reverse("admin:ledger_entry_delete", args=[entry.pk])).status_code == 403
    change = reverse("admin:ledger_entry_change", args=[entry.pk])
    assert superuser.get(change).status_code == 200
    assert superuser.post(change, {"leaf": "x"}).status_code == 403
