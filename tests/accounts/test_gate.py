"""The beta password guards sign-up and log-in, and there is no way around it."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword, BetaUse, User
from tests import people
from tests.accounts import conftest as at
from tests.accounts.conftest import Visitor, acts, errors, new_email, row_of

BAD = {
    "wrong": lambda: "aaaaa-bbbbb-ccccc-ddddd",
    "empty": lambda: "",
    "very long": lambda: "a" * 100_000,
    "expired": at.expired,
    "revoked": at.revoked,
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_beta_password_is_refused_at_both_forms_and_the_form_keeps_its_values(visitor, kind):
    bad, user, email = BAD[kind](), people.person(), new_email()
    for answer in (visitor.sign_up(bad, email), visitor.log_in(bad, user.email)):
        assert answer.status_code == 200
        assert set(errors(answer)) == {"beta_password"}
        text = answer.content.decode()
        assert email in text or user.email in text
        assert people.PASSWORD not in text
    assert not visitor.is_in
    assert not User.objects.filter(email=email).exists()


def test_a_used_up_beta_password_is_refused_at_sign_up_and_accepted_at_log_in(visitor):
    secret, user = at.used_up(), people.person()
    assert set(errors(visitor.sign_up(secret))) == {"beta_password"}
    assert visitor.log_in(secret, user.email)["Location"] == "/espacios/"
    assert visitor.is_in


def test_only_sign_ups_count_as_uses_and_every_use_is_recorded(visitor):
    secret, email = at.make_beta(max_uses=5), new_email()
    assert visitor.sign_up(secret, email)["Location"] == "/espacios/"
    Visitor().log_in(secret, email)
    Visitor().log_in(secret.upper(), email)
    assert row_of(secret).uses == 1
    kinds = BetaUse.objects.filter(user__email=email).order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["signup", "login", "login"]


def test_concurrent_sign_ups_do_not_exceed_the_uses():
    secret = at.make_beta(max_uses=3)

    def one(_):
        try:
            return Visitor().sign_up(secret).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(one, range(8)))
    assert sorted(statuses) == [200] * 5 + [302] * 3
    assert row_of(secret).uses == 3
    assert BetaUse.objects.filter(password=row_of(secret)).count() == 3


@pytest.mark.parametrize("form", ["sign_up", "log_in"])
def test_accounts_are_read_only_after_the_beta_password(visitor, form):
    email = people.person().email
    visitor.get("/acceso/")
    with CaptureQueriesContext(connection) as queries:
        getattr(visitor, form)("aaaaa-bbbbb-ccccc-ddddd", email=email)
    looked_at = " ".join(query["sql"] for query in queries)
    assert "accounts_betapassword" in looked_at
    assert not re.search(r"accounts_user|account_emailaddress", looked_at)


def test_a_session_ends_at_the_first_request_after_its_beta_password_was_revoked(visitor, beta_secret):
    visitor.log_in(beta_secret, people.person().email)
    assert visitor.is_in
    BetaPassword.objects.filter(pk=row_of(beta_secret).pk).update(revoked_at=timezone.now())
    assert not visitor.is_in
    page = visitor.get("/acceso/").content.decode()
    assert "ya no vale" in page


def test_a_session_goes_on_when_its_beta_password_expires_but_the_next_needs_another(visitor, beta_secret):
    user = people.person()
    visitor.log_in(beta_secret, user.email)
    BetaPassword.objects.filter(pk=row_of(beta_secret).pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert visitor.is_in
    assert set(errors(Visitor().log_in(beta_secret, user.email))) == {"beta_password"}


def test_a_session_without_a_beta_password_is_not_accepted():
    client = Client()
    client.force_login(people.person(is_staff=True, is_superuser=True))
    assert client.get("/cuenta/").status_code == 302
    assert client.get("/admin/")["Location"].startswith("/admin/login/")


def test_the_admin_has_no_log_in_of_its_own(visitor, beta_secret):
    boss = people.person(is_staff=True, is_superuser=True)
    answer = visitor.post("/admin/login/", {"username": boss.email, "password": people.PASSWORD})
    assert answer["Location"].startswith("/acceso/?next=")
    answer = visitor.log_in(beta_secret, boss.email, next="/admin/")
    assert answer["Location"] == "/admin/"
    assert visitor.get("/admin/").status_code == 200
    assert visitor.get("/admin/password_change/")["Location"] == "/cuenta/contrasena/"


def test_the_admin_tells_people_who_are_not_staff():
    client = people.client_of(people.person())
    assert client.get("/admin/", follow=True).status_code == 403


def test_a_new_password_by_mail_does_not_log_in(visitor, mail):
    user = people.person()
    visitor.log_in(at.make_beta(), user.email)  # so that its address counts as confirmed
    newcomer = Visitor()
    newcomer.post("/cuenta/contrasena/olvidada/", {"email": user.email})
    link = re.search(r"https?://\S+(/cuenta/\S+)", mail[-1].body)[1]
    form = newcomer.get(link, follow=True)
    done = newcomer.post(
        form.context["action_url"], {"password1": "another phrase", "password2": "another phrase"}
    )
    assert done.status_code == 302, done.context["form"].errors
    assert done["Location"] == "/cuenta/contrasena/olvidada/hecho/"
    assert not newcomer.is_in
    assert set(errors(newcomer.log_in("nonsense", user.email, "another phrase"))) == {"beta_password"}
    assert "account.password_reset" in acts(user)


def test_a_confirmation_logs_in_only_the_browser_that_came_through_the_gate(visitor, mail, beta_secret):
    email = new_email()
    assert visitor.sign_up(beta_secret, email)["Location"] == "/registro/confirmar/"
    assert not visitor.is_in
    link = re.search(r"https?://\S+(/registro/\S+)", mail[-1].body)[1]
    other = Visitor()
    assert email in other.get(link).content.decode()
    assert other.post(link).status_code == 302
    assert not other.is_in


def test_the_browser_that_signed_up_goes_on_from_the_confirmation(visitor, mail, beta_secret):
    visitor.sign_up(beta_secret)
    link = re.search(r"https?://\S+(/registro/\S+)", mail[-1].body)[1]
    assert visitor.post(link)["Location"] == "/espacios/"
    assert visitor.is_in


def test_a_beta_password_revoked_before_the_confirmation_admits_no_one(visitor, mail, beta_secret):
    visitor.sign_up(beta_secret)
    BetaPassword.objects.filter(pk=row_of(beta_secret).pk).update(revoked_at=timezone.now())
    link = re.search(r"https?://\S+(/registro/\S+)", mail[-1].body)[1]
    assert visitor.post(link)["Location"] == "/acceso/"
    assert not visitor.is_in


def test_a_session_opens_nothing_of_the_api(visitor, beta_secret):
    visitor.log_in(beta_secret, people.person().email)
    assert visitor.get("/api/v1/acp/coordination/wait").status_code in (401, 404)


def test_live_sockets_end_with_the_beta_password(workspace):
    from intramedial.accounts import watching

    user = people.member(workspace)
    watcher = watching.Member(workspace.public_id, user.pk, people.session_of(user))
    assert watching._ended({watcher}) == {}
    secret = at.make_beta(revoked_at=timezone.now())
    assert beta.unrevoked([row_of(secret).pk]) == set()
    session = people.session_of(user, beta_password=row_of(secret))
    other = watching.Member(workspace.public_id, user.pk, session)
    assert set(watching._ended({watcher, other})) == {other}
