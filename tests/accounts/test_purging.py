"""What has passed its retention is deleted, and the rest stays."""

import threading
from datetime import timedelta

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.utils import timezone

from intramedial.accounts.deletion import UNCONFIRMED_DAYS
from intramedial.accounts.models import AccessRequest, BetaUse, User
from intramedial.legal import purging
from intramedial.workspaces import provision
from tests import people
from tests.accounts.conftest import Visitor, new_email, row_of


def test_old_requests_for_access_are_deleted(settings):
    old, new = new_email(), new_email()
    for email, days in ((old, settings.ACCESS_REQUEST_DAYS), (new, settings.ACCESS_REQUEST_DAYS - 1)):
        AccessRequest.objects.create(email=email, created_at=timezone.now() - timedelta(days=days))
    assert purging.purge()["accounts"] >= 1
    assert not AccessRequest.objects.filter(email=old).exists()
    assert AccessRequest.objects.filter(email=new).exists()


def test_old_uses_are_deleted_and_the_count_of_sign_ups_stays(settings, visitor, beta_secret):
    visitor.sign_up(beta_secret)
    uses = BetaUse.objects.filter(password=row_of(beta_secret))
    purging.purge()
    assert uses.count() == 1
    uses.update(used_at=timezone.now() - timedelta(days=settings.AUDIT_DAYS))
    purging.purge()
    assert uses.count() == 0
    assert row_of(beta_secret).uses == 1


def test_an_unconfirmed_account_is_deleted():
    """Only an account that no one used, without memberships, and with an unconfirmed address."""
    old = timezone.now() - timedelta(days=UNCONFIRMED_DAYS)
    cases = {
        "forgotten": {},
        "new": {"date_joined": timezone.now() - timedelta(days=UNCONFIRMED_DAYS - 1)},
        "been in": {"last_login": old},
        "operator": {"is_staff": True},
        "made by an operator": {},
        "confirmed": {},
        "member": {},
    }
    users = {}
    for case, fields in cases.items():
        users[case] = User.objects.create_user(new_email(), **{"date_joined": old} | fields)
        if case != "made by an operator":
            EmailAddress.objects.create(
                user=users[case], email=users[case].email, verified=case == "confirmed", primary=True
            )
    people.member(provision.create_workspace("of a member"), user=users["member"])
    assert purging.purge()["accounts"] >= 1
    left = {case for case, user in users.items() if User.objects.filter(pk=user.pk).exists()}
    assert left == set(cases) - {"forgotten"}


def test_the_address_of_a_session_is_deleted_with_it(beta_secret):
    user = people.person()
    here, there = Visitor(), Visitor()
    here.log_in(beta_secret, user.email)
    there.log_in(beta_secret, user.email)
    there.post("/salir/")
    purging.purge()
    kept = UserSession.objects.filter(user=user)
    assert [session.ip for session in kept] == [here.defaults["REMOTE_ADDR"]]


def test_a_server_purges_by_itself_and_goes_on_after_a_failure(monkeypatch):
    again, times = threading.Event(), []

    def fails() -> None:
        times.append(1)
        if len(times) > 1:
            again.set()
        raise RuntimeError("database unavailable")

    monkeypatch.setattr(purging, "purge", fails)
    purger = purging.Purger(first_s=0.001, each_s=0.001)
    purger.start()
    assert again.wait(10)
    purger.stop()
    assert not purger._thread.is_alive()
