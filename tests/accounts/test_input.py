"""Any text typed into these forms gets a message beside its field or is shown safely, and never causes a
server error."""

import logging
import re
from urllib.parse import urlencode, urlsplit

import pytest

from intramedial.accounts.models import AccessRequest, User
from tests import people
from tests.accounts.conftest import Visitor, errors, new_email

ADDRESSES = {
    "header injection": "a@example.com\nBcc: b@example.com",
    "encoded injection": "a@example.com%0aBcc:b@example.com",
    "homoglyph": "admin@ex\u0430mple.com",
    "homoglyph before the at": "\u0430dmin@example.com",
    "full width": "admin@ｅxample.com",
    "invisible": "ad\u200bmin@example.com",
    "nul": "admin\x00@example.com",
    "very long": "a" * 300 + "@example.com",
    "enormous": "a" * 200_000 + "@example.com",
    "two": "a@example.com, b@example.com",
    "markup": "<script>alert(1)</script>@example.com",
    "empty": "",
    "blank": "   ",
}


@pytest.mark.parametrize("kind", ADDRESSES)
def test_a_bad_address_is_refused_beside_its_field(mail, beta_secret, kind):
    typed = ADDRESSES[kind]
    before = User.objects.count()
    answer = Visitor().sign_up(beta_secret, typed or " ")
    assert set(errors(answer)) == {"email"}
    assert "<script>alert" not in answer.content.decode()
    assert set(errors(Visitor().log_in(beta_secret, typed))) <= {"login", "__all__"}
    asked = Visitor().post("/pedir-acceso/", {"email": typed, "about": "x"})
    assert set(errors(asked)) == {"email"}
    reset = Visitor().post("/cuenta/contrasena/olvidada/", {"email": typed})
    assert set(errors(reset)) == {"email"}
    client = people.client_of(people.person(), password_again=True)
    assert set(errors(client.post("/cuenta/correo/", {"email": typed}))) == {"email"}
    assert User.objects.count() == before + 1
    assert mail == []


@pytest.mark.parametrize("password", ["\x00" * 12, "a" * 5000, "\ud7ff" * 20, " " * 12, "\u202e" * 12])
def test_a_password_may_be_any_text_that_fits(beta_secret, password):
    email = new_email()
    answer = Visitor().sign_up(beta_secret, email, password)
    if answer.status_code == 200:
        assert set(errors(answer)) == {"password1"}
    else:
        assert Visitor().log_in(beta_secret, email, password).status_code == 302


@pytest.mark.parametrize(
    "path", ["/acceso/", "/registro/", "/pedir-acceso/", "/cuenta/contrasena/olvidada/", "/en/acceso/"]
)
def test_other_bodies_and_methods_cause_no_server_error(path, settings):
    settings.SENDS_MAIL = True
    visitor = Visitor()
    assert visitor.post(path, b"{", content_type="application/json").status_code == 200
    assert (
        visitor.post(path, b"\xff\xfe=1", content_type="application/x-www-form-urlencoded").status_code == 200
    )
    assert visitor.post(path, {"next": "x" * 10_000}).status_code == 200
    for method in ("put", "delete", "patch"):
        assert getattr(visitor, method)(path).status_code in (200, 405)
    assert visitor.get(path, headers={"x-requested-with": "XMLHttpRequest"}).status_code == 200


@pytest.mark.parametrize("key", ["x", "MQ:1abc:def", "-", "%2e%2e", "a" * 3000, "ñ", ":" * 50])
def test_forged_links_have_a_message(key):
    assert "no vale" in Visitor().get("/registro/confirmar/enlace/", {"clave": key}).content.decode()
    assert Visitor().post("/registro/confirmar/enlace/?" + urlencode({"clave": key})).status_code == 404
    for forged in (key, f"1-{key}", f"zzzzzzzzzzzzzzz-{key}"):
        answer = Visitor().get("/cuenta/contrasena/olvidada/enlace/", {"clave": forged}, follow=True)
        assert (answer.status_code, "no vale" in answer.content.decode()) == (200, True)


def test_the_secret_of_a_link_is_in_no_log(mail, caplog):
    user = people.person()
    Visitor().post("/cuenta/contrasena/olvidada/", {"email": user.email})
    link = urlsplit(re.search(r"https?://\S+", mail[0].body)[0])
    with caplog.at_level(logging.INFO):
        answer = Visitor().get(f"{link.path}?{link.query}", follow=True)
    assert answer.context["form"].fields.keys() == {"password1", "password2"}
    secret = link.query.partition("=")[2].partition("-")[2]
    assert len(secret) > 20
    assert secret not in str([vars(record) for record in caplog.records])


def test_a_form_without_its_token_is_refused(beta_secret):
    visitor = Visitor(enforce_csrf_checks=True)
    assert visitor.sign_up(beta_secret).status_code == 403
    assert visitor.post("/salir/").status_code == 403


def test_a_request_for_access_is_in_the_admin_once():
    email, visitor = new_email(), Visitor()
    asked = {"email": email.upper(), "name": "Ana", "about": "Tres agentes\r\nque \u202edespliegan."}
    assert visitor.post("/en/pedir-acceso/", asked)["Location"] == "/en/pedir-acceso/hecho/"
    assert visitor.post("/pedir-acceso/", asked)["Location"] == "/pedir-acceso/hecho/"
    row = AccessRequest.objects.get(email=email)
    assert row.about == "Tres agentes\nque despliegan."
    assert "Te escribiremos" in visitor.get("/pedir-acceso/hecho/").content.decode()
    boss = people.client_of(people.person(is_staff=True, is_superuser=True))
    page = boss.get(f"/admin/accounts/accessrequest/?q={email}").content.decode()
    assert email in page
    assert boss.get(f"/admin/accounts/accessrequest/{row.pk}/change/").status_code == 200


@pytest.mark.parametrize("about", ["", "   ", "\u200b", "x" * 1001])
def test_the_reason_for_access_is_a_short_text(about):
    answer = Visitor().post("/pedir-acceso/", {"email": new_email(), "about": about})
    assert set(errors(answer)) == {"about"}


def test_an_address_has_a_limit_of_requests_for_access(settings):
    settings.ACCESS_REQUESTS = 2
    visitor = Visitor()
    statuses = [
        visitor.post("/pedir-acceso/", {"email": new_email(), "about": "x"}).status_code for _ in range(3)
    ]
    assert statuses == [302, 302, 429]
