"""A person with a beta password cannot keep an account's owner out; there is a way past every limit."""

import re

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.management import CommandError, call_command
from django.urls import reverse

from intramedial.accounts import throttle
from intramedial.audit.models import Entry
from tests import people
from tests.accounts.conftest import Visitor, acts, errors, make_beta, new_email

NEW = "another pass phrase"


@pytest.fixture
def few_tries(settings):
    """Three tries an hour; nine for one account from all addresses."""
    settings.LOGIN_TRIES, settings.ACCOUNT_TRIES = 3, 9


def guessed(secret, email, times, visitor=None):
    """Wrong tries, each from its own address or all from one visitor; returns the statuses."""
    return [(visitor or Visitor()).log_in(secret, email, "wrong").status_code for _ in range(times)]


def by_link(mail, email, visitor):
    """Set a new password by the link that is mailed to the address."""
    assert visitor.post("/cuenta/contrasena/olvidada/", {"email": email}).status_code == 302
    page = visitor.get(re.search(r"https?://[^/]+(\S+)", mail[-1].body)[1], follow=True)
    assert visitor.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW}).status_code == 302


def test_a_guesser_with_a_beta_password_does_not_lock_the_owner_out(beta_secret):
    """With the default limits."""
    user, guesser = people.person(), Visitor()
    assert guessed(beta_secret, user.email, 20, guesser) == [200] * 20
    assert guessed(beta_secret, user.email, 20, guesser) == [429] * 20
    owner = Visitor()
    assert owner.log_in(beta_secret, user.email)["Location"] == "/espacios/"
    assert guessed(beta_secret, user.email, 1, guesser) == [429], "the guesser gets no tries back"


def test_several_guessers_do_not_lock_the_owner_out(few_tries, beta_secret):
    user = people.person()
    assert guessed(beta_secret, user.email, 8) == [200] * 8
    assert Visitor().log_in(beta_secret, user.email).status_code == 302


def test_guessing_one_account_from_many_addresses_has_a_limit(few_tries, beta_secret):
    user = people.person()
    assert guessed(beta_secret, user.email, 11) == [200] * 9 + [429] * 2
    refused = Visitor().log_in(beta_secret, user.email)
    assert refused.status_code == 429
    assert 3500 < int(refused["Retry-After"]) <= 3600
    assert Visitor().log_in(beta_secret, people.person().email).status_code == 302, (
        "only that account is locked"
    )


def test_only_wrong_tries_count_for_the_account(few_tries, beta_secret):
    user = people.person()
    for _ in range(12):
        assert Visitor().log_in(beta_secret, user.email).status_code == 302
    assert guessed(beta_secret, user.email, 9) == [200] * 9


def test_a_link_by_mail_leads_past_every_limit(few_tries, mail, beta_secret):
    user, shared = people.person(), Visitor()
    Visitor().log_in(beta_secret, user.email)  # so that its address counts as confirmed
    guessed(beta_secret, user.email, 9)
    # Even when the owner and the guesser share an address.
    guessed(beta_secret, user.email, 3, shared)
    owner = Visitor()
    owner.defaults["REMOTE_ADDR"] = shared.defaults["REMOTE_ADDR"]
    refused = owner.log_in(beta_secret, user.email)
    assert refused.status_code == 429
    assert "He olvidado la contraseña" in errors(refused)["__all__"][0]
    by_link(mail, user.email, owner)
    assert owner.log_in(beta_secret, user.email, NEW)["Location"] == "/espacios/"
    assert owner.is_in
    assert Visitor().log_in(beta_secret, user.email, NEW).status_code == 429, "only that browser passes"


def test_a_browser_with_the_link_has_its_own_limit_of_tries(few_tries, mail, beta_secret):
    user, other = people.person(), people.person()
    for one in (user, other):
        Visitor().log_in(beta_secret, one.email)
    guessed(beta_secret, user.email, 9)
    visitor = Visitor()
    by_link(mail, user.email, visitor)
    guessed(beta_secret, other.email, 9)
    assert visitor.log_in(beta_secret, other.email).status_code == 429, "the tries are for one account"
    assert guessed(beta_secret, user.email, 3, visitor) == [200] * 3
    assert visitor.log_in(beta_secret, user.email, NEW).status_code == 429


def asked_for_links(email, times):
    """Requests for links, each from its own address; returns the statuses."""
    form = "/cuenta/contrasena/olvidada/"
    return [Visitor().post(form, {"email": email}).status_code for _ in range(times)]


def test_requests_for_links_by_others_do_not_lock_the_owner_out(few_tries, mail, beta_secret):
    """Whenever no more links are mailed, the owner has one that works."""
    user = people.person()
    Visitor().log_in(beta_secret, user.email)
    for password in (NEW, NEW + "s"):
        guessed(beta_secret, user.email, 9)
        assert asked_for_links(user.email, 7) == [302] * 5 + [429] * 2
        owner = Visitor()
        refused = owner.post("/cuenta/contrasena/olvidada/", {"email": user.email}, HTTP_ACCEPT="text/html")
        assert "el último enlace que te hemos enviado" in refused.content.decode()
        page = owner.get(re.search(r"https?://[^/]+(\S+)", mail[-1].body)[1], follow=True)
        set_to = {"password1": password, "password2": password}
        assert owner.post(page.request["PATH_INFO"], set_to).status_code == 302
        assert owner.log_in(beta_secret, user.email, password).status_code == 302
    assert asked_for_links(user.email, 6) == [302] * 5 + [429], "after a log-in, which ends the links"


def test_a_wrong_password_mails_no_further_links(few_tries, mail, beta_secret):
    user = people.person()
    assert asked_for_links(user.email, 6) == [302] * 5 + [429]
    guessed(beta_secret, user.email, 1)
    assert asked_for_links(user.email, 1) == [429]
    assert asked_for_links(new_email(), 1) == [302]


def test_a_lock_looks_the_same_with_and_without_an_account(few_tries, mail, beta_secret, monkeypatch):
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda self, *given: hashed.append(1) or encode(self, *given)
    )
    answers, counts = [], []
    for email in (people.person().email, new_email()):
        guessed(beta_secret, email, 9)
        hashed.clear()
        answer = Visitor().log_in(beta_secret, email, "wrong")
        answers.append((answer.status_code, errors(answer)))
        counts.append(len(hashed))
    assert answers[0] == answers[1]
    assert answers[0][0] == 429
    assert counts == [0, 0]


def test_sign_up_tries_lock_no_account(few_tries, beta_secret):
    user = people.person()
    for _ in range(6):
        Visitor().sign_up(beta_secret, user.email)
    assert Visitor().log_in(beta_secret, user.email).status_code == 302


def test_mails_of_sign_ups_to_one_address_have_a_limit(few_tries, mail, beta_secret):
    user = people.person()
    statuses = [Visitor().sign_up(beta_secret, user.email).status_code for _ in range(4)]
    assert statuses == [302, 302, 302, 429]
    assert 1 <= len(mail) <= 3


def test_without_mail_an_operator_unlocks_an_account(few_tries, beta_secret):
    user, guesser = people.person(), Visitor()
    guessed(beta_secret, user.email, 2, guesser)
    guessed(beta_secret, user.email, 7)
    refused = Visitor().log_in(beta_secret, user.email)
    assert "quien administra el servicio" in errors(refused)["__all__"][0]
    call_command("account", "unlock", user.email.upper(), "--json")
    assert Visitor().log_in(beta_secret, user.email).status_code == 302
    assert Entry.objects.filter(action="account.unlocked", target=f"account {user.pk}").count() == 1
    with pytest.raises(CommandError, match="no account"):
        call_command("account", "unlock", new_email())


def test_an_administrator_unlocks_an_account(few_tries, beta_secret):
    user = people.person()
    guessed(beta_secret, user.email, 9)
    boss = people.client_of(people.person(is_staff=True, is_superuser=True))
    boss.post(reverse("admin:accounts_user_changelist"), {"action": "unlock", "_selected_action": [user.pk]})
    assert Visitor().log_in(beta_secret, user.email).status_code == 302


def test_the_audit_log_names_the_beta_password_of_a_guesser(few_tries):
    secret, user = make_beta(), people.person()
    guessed(secret, user.email, 1)
    entry = Entry.objects.get(actor=user.pk, action="account.login_failed")
    assert entry.detail == {"beta": secret.partition("-")[0]}
    assert acts(user) == ["account.login_failed"]


def test_the_keys_of_tries_fit_their_column_and_contain_no_address(beta_secret, rf):
    request = rf.post("/", REMOTE_ADDR="203.0.113.9")
    email = "x" * 240 + "@example.com"
    for name in (throttle.of_pair(request, email), throttle.of_account("account", email)):
        assert len(name) <= 80
        assert "example" not in name and "203" not in name.rpartition(":")[0]
