"""Tries of an address and of an account have a limit an hour, with words that say when to come back."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.http import int_to_base36

from intramedial.accounts import throttle
from intramedial.accounts.models import CacheEntry, Try, User
from tests import people
from tests.accounts.conftest import Visitor, errors, new_email


@pytest.fixture(autouse=True)
def few_tries(settings):
    """Three tries an hour; nine for one account from all addresses."""
    settings.LOGIN_TRIES, settings.ACCOUNT_TRIES = 3, 9


def test_an_address_has_a_limit_of_tries_over_both_forms(beta_secret):
    visitor, email = Visitor(), new_email()
    for _ in range(2):
        assert visitor.log_in("wrong", email).status_code == 200
    assert visitor.sign_up("wrong", email).status_code == 200
    answer = visitor.sign_up(beta_secret, email)
    assert answer.status_code == 429
    assert 3500 < int(answer["Retry-After"]) <= 3600
    assert "dentro de 60 minutos" in errors(answer)["__all__"][0]
    assert email in answer.content.decode(), "the form keeps its values"
    assert not User.objects.filter(email=email).exists()
    assert visitor.get("/acceso/").status_code == 200, "opening the page is no try"
    assert Visitor().sign_up(beta_secret, email).status_code == 302, "another address"


def test_an_account_has_a_limit_of_tries_from_all_addresses(beta_secret):
    user = people.person()
    for _ in range(9):
        assert Visitor().log_in(beta_secret, user.email.upper(), "wrong").status_code == 200
    answer = Visitor().log_in(beta_secret, user.email)
    assert answer.status_code == 429
    assert "dentro de" in errors(answer)["__all__"][0]


def test_an_address_without_an_account_is_counted_alike(beta_secret):
    email = new_email()
    statuses = [Visitor().log_in(beta_secret, email, "wrong").status_code for _ in range(10)]
    assert statuses == [200] * 9 + [429]


def test_without_a_beta_password_no_one_uses_up_the_tries_of_an_account(beta_secret):
    user = people.person()
    for _ in range(5):
        Visitor().log_in("aaaaa-bbbbb-ccccc-ddddd", user.email, "wrong")
    assert Visitor().log_in(beta_secret, user.email).status_code == 302


def test_a_log_in_gives_all_tries_back(beta_secret):
    user = people.person()
    for _ in range(2):
        Visitor().log_in(beta_secret, user.email, "wrong")
    assert Visitor().log_in(beta_secret, user.email).status_code == 302
    for _ in range(3):
        assert Visitor().log_in(beta_secret, user.email, "wrong").status_code == 200


def test_an_hour_later_there_are_tries_again():
    name = throttle.of_account("test", new_email())
    assert [throttle.spend(name, 2), throttle.spend(name, 2)] == [None, None]
    Try.objects.filter(of=name).update(at=timezone.now() - timedelta(minutes=50))
    wait = throttle.spend(name, 2)
    assert 590 <= wait.seconds <= 600
    assert "10 minutos" in wait.words
    Try.objects.filter(of=name).update(at=timezone.now() - timedelta(hours=1))
    assert throttle.spend(name, 2) is None


def test_concurrent_tries_do_not_exceed_the_limit():
    name = throttle.of_account("test", new_email())

    def one(_):
        try:
            return throttle.spend(name, 5)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(one, range(16)))
    assert waits.count(None) == 5


def test_addresses_and_accounts_are_stored_as_hashes_only(mail, beta_secret):
    visitor, email = Visitor(), new_email()
    visitor.log_in(beta_secret, email, "wrong")
    visitor.post("/cuenta/contrasena/olvidada/", {"email": email})
    kept = " ".join(
        [*Try.objects.values_list("of", flat=True), *CacheEntry.objects.values_list("pk", flat=True)]
    )
    assert CacheEntry.objects.exists()
    assert email not in kept
    assert visitor.defaults["REMOTE_ADDR"] not in kept


def test_purge_deletes_old_tries():
    name = throttle.of_account("test", new_email())
    throttle.spend(name, 2)
    Try.objects.filter(of=name).update(at=timezone.now() - timedelta(hours=1))
    throttle.purge()
    assert not Try.objects.filter(of=name).exists()


def test_the_password_asked_for_again_cannot_be_guessed_for_ever():
    client = people.client_of(people.person())
    statuses = {client.post("/cuenta/comprobar/", {"password": "wrong"}).status_code for _ in range(21)}
    assert statuses == {200, 429}


def test_mails_to_one_address_have_a_limit(mail):
    user = people.person()
    for _ in range(8):
        Visitor().post("/cuenta/contrasena/olvidada/", {"email": user.email})
    assert len(mail) == 5


def test_mails_of_one_account_have_a_limit(mail):
    client = people.client_of(people.person(), password_again=True)
    for _ in range(5):
        assert client.post("/cuenta/correo/", {"email": new_email()}).status_code == 302
    refused = client.post("/cuenta/correo/", {"email": "six@example.com"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 3500
    assert "Demasiados intentos" in errors(refused)["email"][0]
    assert "six@example.com" in refused.content.decode()
    assert len(mail) == 5


def test_invalid_links_make_no_sessions(migrated_databases):
    user = people.person()
    for forged in ("", "x", "-1", "ñ-1", "-", f"{int_to_base36(user.pk)}-{'k' * 3000}", "zzzzzzzzzzzzz-a-b"):
        visitor = Visitor()
        page = visitor.get("/cuenta/contrasena/olvidada/enlace/", {"clave": forged}, follow=True)
        assert page.status_code == 200
        assert settings.SESSION_COOKIE_NAME not in visitor.cookies
