"""Where mail is configured, no answer reveals whether an address has an account.

Without mail, no answer reveals it before the beta password.
"""

import re

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher

from intramedial.accounts.models import BetaPassword, User
from tests import people
from tests.accounts.conftest import Visitor, errors, make_beta, new_email, row_of


def body(answer) -> str:
    """A page without the parts that differ each time: the form's token and the typed address."""
    text = re.sub(r'(name="csrfmiddlewaretoken" value=)"\w+"', r"\1", answer.content.decode())
    return re.sub(r"[\w-]+@example\.com", "…", text)


@pytest.fixture
def hashed(monkeypatch) -> list[int]:
    """How many passwords were hashed: hashing takes most of the time."""
    count: list[int] = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda self, *given: count.append(1) or encode(self, *given)
    )
    return count


def confirmed() -> User:
    """An account whose address an operator confirmed."""
    return people.person()


def test_sign_up_answers_the_same_for_both_and_notifies_the_owner_by_mail(mail, hashed, beta_secret):
    user, email = confirmed(), new_email()
    hashed.clear()
    new = Visitor().sign_up(beta_secret, email)
    for_new = len(hashed)
    hashed.clear()
    known = Visitor().sign_up(beta_secret, user.email)
    assert len(hashed) == for_new == 1
    assert new.status_code == known.status_code == 302
    assert new["Location"] == known["Location"] == "/registro/confirmar/"
    assert set(new.cookies) == set(known.cookies)
    assert [message.to for message in mail] == [[email], [user.email]]
    assert "/registro/confirmar/" in mail[0].body
    assert "ya tiene cuenta" in mail[1].body
    assert row_of(beta_secret).uses == 2, "the next sign-up must not reveal it either"


def test_a_last_use_is_used_up_either_way(mail):
    for email in (confirmed().email, new_email()):
        secret = make_beta(max_uses=1)
        assert Visitor().sign_up(secret, email).status_code == 302
        assert set(errors(Visitor().sign_up(secret))) == {"beta_password"}


def test_log_in_answers_the_same_for_both(mail, hashed, beta_secret):
    user = confirmed()
    answers, counts = [], []
    for email in (user.email, new_email()):
        hashed.clear()
        answers.append(Visitor().log_in(beta_secret, email, "not the password"))
        counts.append(len(hashed))
    assert body(answers[0]) == body(answers[1])
    assert counts == [1, 1]


def test_log_in_does_not_reveal_whether_a_sign_up_made_an_account(mail, hashed, beta_secret):
    mine, answers, counts = "a pass phrase of mine", [], []
    emails = (confirmed().email, new_email())
    for email in emails:
        Visitor().sign_up(beta_secret, email, mine)
        hashed.clear()
        answers.append(Visitor().log_in(beta_secret, email, mine))
        counts.append(len(hashed))
    assert body(answers[0]) == body(answers[1])
    assert answers[0].status_code == answers[1].status_code == 200
    assert counts == [1, 1]
    assert [message.to for message in mail] == [[email] for email in emails]


def test_a_new_password_by_mail_confirms_the_address_too(mail, beta_secret):
    email, new = new_email(), "another pass phrase"
    Visitor().sign_up(beta_secret, email)
    visitor = Visitor()
    visitor.post("/cuenta/contrasena/olvidada/", {"email": email})
    page = visitor.get(re.search(r"https?://[^/]+(\S+)", mail[-1].body)[1], follow=True)
    visitor.post(page.request["PATH_INFO"], {"password1": new, "password2": new})
    assert visitor.log_in(beta_secret, email, new)["Location"] == "/espacios/"


def test_asking_for_a_link_answers_the_same_for_both(mail):
    user, email = confirmed(), new_email()
    answers = [
        Visitor().post("/cuenta/contrasena/olvidada/", {"email": address}, follow=True)
        for address in (user.email, email)
    ]
    assert body(answers[0]) == body(answers[1])
    assert "no tiene cuenta" in mail[1].body


def test_a_new_address_answers_the_same_with_and_without_an_account(mail):
    user, other = confirmed(), confirmed()
    for email in (other.email, new_email()):
        client = people.client_of(user, password_again=True)
        assert client.post("/cuenta/correo/", {"email": email})["Location"] == "/cuenta/correo/"
    assert User.objects.get(pk=user.pk).email == user.email, "the address changes only after the confirmation"


@pytest.mark.parametrize("kind", ["wrong", "used up"])
def test_without_mail_only_a_beta_password_reveals_an_account(kind):
    secret = "aaaaa-bbbbb-ccccc-ddddd" if kind == "wrong" else make_beta(max_uses=1, uses=1)
    known = Visitor().sign_up(secret, confirmed().email)
    unknown = Visitor().sign_up(secret, new_email())
    assert body(known) == body(unknown)
    assert set(errors(known)) == {"beta_password"}


def test_without_mail_the_message_is_beside_the_field(beta_secret):
    answer = Visitor().sign_up(beta_secret, confirmed().email.upper())
    assert set(errors(answer)) == {"email"}
    assert BetaPassword.objects.get(pk=row_of(beta_secret).pk).uses == 0


def test_without_its_mail_server_no_page_fails_and_none_reveals_an_account(mail, settings, beta_secret):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    for email in (confirmed().email, new_email()):
        answer = Visitor().sign_up(beta_secret, email)
        assert (answer.status_code, answer["Location"]) == (302, "/registro/confirmar/")


def test_the_links_of_a_mail_are_those_of_the_base_url(mail, settings, beta_secret):
    settings.BASE_URL = "https://api.intramedial.com"
    settings.ALLOWED_HOSTS = ["*"]
    Visitor(headers={"host": "evil.example"}).sign_up(beta_secret, new_email())
    assert "https://api.intramedial.com/registro/confirmar/" in mail[0].body
    assert "evil" not in mail[0].body
