"""Data that anonymous visitors create are limited and deleted after a time."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from intramedial.accounts import access_requests, throttle
from intramedial.accounts.models import AccessRequest, Try
from intramedial.databases import disk
from intramedial.ledger import admin, log
from intramedial.ledger.models import Entry
from intramedial.legal import purging
from intramedial.receipts import receipt
from intramedial.workspaces import provision
from intramedial.workspaces.models import Membership, Trial, Workspace
from tests import people
from tests.accounts.conftest import new_email


def trial(ends_in: timedelta) -> Trial:
    """A trial with a workspace and an entry in the ledger."""
    workspace = Workspace.objects.create(name="trial")
    made = Trial.objects.create(
        did=f"did:example:{workspace.public_id}",
        workspace=workspace,
        calls_limit=35,
        expires_at=timezone.now() + ends_in,
        address_hash="a" * 64,
        site_hash="b" * 64,
    )
    enter(workspace.public_id)
    return made


def enter(workspace: str) -> str:
    """Add an entry of a workspace to the ledger; returns its leaf."""
    receipt_id = f"rcp_{workspace}"
    claims = receipt.claims(
        iat=1,
        jti=receipt_id,
        sub="did:example:a",
        auth="signature",
        workspace=workspace,
        event="coordination.lease",
        outcome="granted",
        resource="lock:a",
        digest="d",
        result_json=b'{"ok":true}',
    )
    signed = receipt.receipt(claims, receipt_id)
    assert signed is not None
    log.append([(receipt_id, workspace, signed["jws"])])
    return signed["jws"]


def entry(workspace: str) -> Entry:
    return Entry.objects.get(workspace=workspace)


def test_the_ledger_keeps_a_hash_of_each_entry_of_an_ended_trial():
    over, goes_on = trial(timedelta(seconds=-1)), trial(timedelta(days=1))
    names = [one.workspace.public_id for one in (over, goes_on)]
    before = [entry(name) for name in names]
    assert purging.purge()["trials"] >= 1
    after = [entry(name) for name in names]
    assert [one.index for one in after] == [one.index for one in before], "the log has a gap"
    assert (after[0].leaf, bytes(after[0].leaf_hash)) == ("", log.leaf_hash(before[0].leaf))
    assert after[1].leaf == before[1].leaf
    [checked] = admin.check([after[0]])
    assert checked.holds
    over.refresh_from_db()
    assert (over.workspace, over.address_hash, over.site_hash) == (None, "", "")


def test_a_leaf_hash_is_that_of_a_merkle_tree():
    """RFC 6962, section 2.1. The vector is the empty leaf from the RFC's test data."""
    assert log.leaf_hash("").hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


def test_entries_of_adopted_and_deleted_workspaces_stay_in_the_ledger():
    adopted = trial(timedelta(seconds=-1))
    Membership.objects.create(workspace=adopted.workspace, user=people.person(), role=Membership.Role.OWNER)
    owned = provision.create_workspace("owned").public_id
    leaf = enter(owned)
    Workspace.objects.filter(public_id=owned).delete()
    purging.purge()
    assert entry(adopted.workspace.public_id).leaf
    assert entry(owned).leaf == leaf


def test_without_its_ledger_the_rest_is_purged(monkeypatch):
    over = trial(timedelta(seconds=-1))
    Try.objects.create(of="kept", at=timezone.now() - timedelta(hours=2))

    def away(workspace: str) -> int:
        raise OperationalError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(log, "drop_contents", away)
        assert purging.purge()["trials"] == 0
    over.refresh_from_db()
    assert over.workspace is not None, "the trial was purged without its ledger"
    assert not Try.objects.filter(of="kept").exists(), "the rest waited for the ledger"
    assert purging.purge()["trials"] >= 1


def test_contents_are_dropped_in_steps(monkeypatch):
    monkeypatch.setattr(log, "AT_ONCE", 2)
    log.append([(f"rcp_steps{n}", "ws_steps", f"leaf {n}") for n in range(5)])
    assert log.drop_contents("ws_steps") == 5
    assert log.drop_contents("ws_steps") == 0
    hashes = Entry.objects.filter(workspace="ws_steps").order_by("index").values_list("leaf_hash", flat=True)
    assert [bytes(one) for one in hashes] == [log.leaf_hash(f"leaf {n}") for n in range(5)]


# --- tries and requests for access


def test_old_tries_are_deleted_when_new_ones_come():
    long_ago = timezone.now() - timedelta(hours=2)
    Try.objects.bulk_create(Try(of=f"old:{number}", at=long_ago) for number in range(50))
    old = Try.objects.filter(at__lte=timezone.now() - throttle.HOUR)
    before = old.count()
    for number in range(10):
        assert throttle.spend(f"new:{number}", 1) is None
    assert old.count() == max(0, before - 10 * throttle.SWEPT)


@pytest.fixture
def asked(client, settings):
    """`asked()` sends a request for access and returns the answer."""
    settings.ACCESS_REQUESTS = 1_000
    form = {"name": "", "about": "Three agents."}
    return lambda: client.post("/pedir-acceso/", {**form, "email": new_email()})


def test_requests_for_access_have_a_limit(asked, monkeypatch, caplog):
    monkeypatch.setattr(access_requests, "MOST", AccessRequest.objects.count() + 2)
    assert [asked().status_code for _ in range(4)] == [302, 302, 503, 503]
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len([words for words in errors if "no more are taken" in words]) == 1


def test_no_request_for_access_is_kept_when_the_disk_is_nearly_full(asked, monkeypatch):
    monkeypatch.setattr(disk, "low", lambda: True)
    before = AccessRequest.objects.count()
    answer = asked()
    assert (answer.status_code, answer["Retry-After"]) == (503, "86400")
    assert AccessRequest.objects.count() == before
