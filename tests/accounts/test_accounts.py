"""An account from sign-up to its end."""

import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session

from intramedial.accounts.models import User
from intramedial.audit.models import Entry
from intramedial.workspaces import provision
from intramedial.workspaces.models import Membership, Workspace
from tests import people
from tests.accounts.conftest import Visitor, acts, errors, new_email

NEW = "another phrase"


def code_of(secret: str) -> str:
    """The code that the authenticator app shows now."""
    counter = next(iter(yield_hotp_counters_from_time()))
    return str(format_hotp_value(hotp_value(secret, counter)))


def fresh(user: Any) -> User:
    """The account as it is in the database."""
    return User.objects.get(pk=user.pk)


def test_sign_up_log_out_log_in_and_what_the_audit_log_has(visitor, beta_secret):
    email = new_email()
    assert visitor.sign_up(beta_secret, email)["Location"] == "/espacios/"
    assert visitor.is_in
    assert visitor.post("/salir/")["Location"] == "/"
    assert not visitor.is_in
    assert set(errors(visitor.log_in(beta_secret, email, "wrong"))) == {"__all__"}
    assert visitor.log_in(beta_secret, email.upper())["Location"] == "/espacios/"
    noted = acts(User.objects.get(email=email))
    assert noted == [f"account.{act}" for act in ("signed_up", "logged_in", "logged_out")] + [
        "account.login_failed",
        "account.logged_in",
    ]
    assert Entry.objects.filter(action="account.signed_up").last().address == visitor.defaults["REMOTE_ADDR"]


def test_the_form_sent_twice_makes_one_account(visitor, beta_secret):
    email = new_email()
    visitor.sign_up(beta_secret, email)
    assert visitor.sign_up(beta_secret, email)["Location"] == "/espacios/"
    assert User.objects.filter(email=email).count() == 1


@pytest.mark.parametrize(
    "where",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "http:///x"],
)
def test_next_leads_to_this_origin_alone(beta_secret, where):
    user = people.person()
    assert Visitor().log_in(beta_secret, user.email, next=where)["Location"] == "/espacios/"
    assert (
        Visitor().log_in(beta_secret, user.email, next="/cuenta/sesiones/")["Location"] == "/cuenta/sesiones/"
    )
    assert Visitor().sign_up(beta_secret, next=where)["Location"] == "/espacios/"


@pytest.mark.parametrize("password", ["short", "password123", "1234567890", "similar@example"])
def test_a_weak_password_is_refused_beside_its_field(visitor, beta_secret, password):
    answer = visitor.sign_up(beta_secret, "similar@example.com", password)
    assert set(errors(answer)) == {"password1"}


def test_the_pages_of_an_account_lead_through_the_log_in(visitor):
    for path in (
        "/cuenta/",
        "/cuenta/sesiones/",
        "/cuenta/borrar/",
        "/cuenta/correo/",
        "/cuenta/contrasena/",
    ):
        answer = visitor.get(path)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/acceso/?next=")


def test_a_new_password_ends_the_other_sessions(beta_secret):
    user = people.person()
    here, there = Visitor(), Visitor()
    for client in (here, there):
        client.log_in(beta_secret, user.email)
    wrong = here.post("/cuenta/contrasena/", {"oldpassword": "x", "password1": NEW, "password2": NEW})
    assert set(errors(wrong)) == {"oldpassword"}
    twice = {"oldpassword": people.PASSWORD, "password1": NEW}
    assert set(errors(here.post("/cuenta/contrasena/", twice | {"password2": "x"}))) == {"password2"}
    assert here.post("/cuenta/contrasena/", twice | {"password2": NEW}).status_code == 302
    assert here.is_in
    assert not there.is_in
    assert fresh(user).check_password(NEW)
    assert "account.password_changed" in acts(user)


def test_dangerous_pages_ask_for_the_password_again_and_go_on(beta_secret):
    user, visitor = people.person(), Visitor()
    visitor.log_in(beta_secret, user.email)
    answer = visitor.get("/cuenta/correo/")
    assert answer["Location"] == "/cuenta/comprobar/?next=%2Fcuenta%2Fcorreo%2F"
    assert set(errors(visitor.post("/cuenta/comprobar/", {"password": "x", "next": "/cuenta/correo/"}))) == {
        "password"
    }
    done = visitor.post("/cuenta/comprobar/", {"password": people.PASSWORD, "next": "/cuenta/correo/"})
    assert done["Location"] == "/cuenta/correo/"
    assert visitor.get("/cuenta/correo/").status_code == 200


def test_without_mail_a_new_address_counts_at_once(beta_secret):
    user, email = people.person(), new_email()
    client = people.client_of(user, password_again=True)
    assert set(errors(client.post("/cuenta/correo/", {"email": people.person().email}))) == {"email"}
    assert set(errors(client.post("/cuenta/correo/", {"email": user.email}))) == {"email"}
    assert client.post("/cuenta/correo/", {"email": email.upper()}).status_code == 302
    assert fresh(user).email == email
    assert Visitor().log_in(beta_secret, email).status_code == 302
    assert set(errors(Visitor().log_in(beta_secret, user.email))) == {"__all__"}
    assert "account.email_changed" in acts(user)


def test_with_mail_a_new_address_counts_once_it_is_confirmed(mail, beta_secret):
    user, email, visitor = people.person(), new_email(), Visitor()
    visitor.log_in(beta_secret, user.email)
    visitor.post("/cuenta/comprobar/", {"password": people.PASSWORD})
    visitor.post("/cuenta/correo/", {"email": email})
    assert "Falta que confirmes" in visitor.get("/cuenta/correo/").content.decode()
    assert fresh(user).email == user.email
    visitor.post(re.search(r"https?://\S+(/registro/\S+)", mail[-1].body)[1])
    assert fresh(user).email == email
    assert [message.to for message in mail] == [[email], [user.email]], "the old address is notified"
    assert EmailAddress.objects.filter(user=user).count() == 1
    assert visitor.is_in


def test_an_address_that_another_account_took_meanwhile_stays_there(mail, beta_secret):
    user, email, visitor = people.person(), new_email(), Visitor()
    visitor.log_in(beta_secret, user.email)
    visitor.post("/cuenta/comprobar/", {"password": people.PASSWORD})
    visitor.post("/cuenta/correo/", {"email": email})
    link = re.search(r"https?://\S+(/registro/\S+)", mail[-1].body)[1]
    people.person(email)
    assert visitor.post(link).status_code == 302
    assert fresh(user).email == user.email


def test_accounts_of_operators_need_no_confirmation(mail, visitor, beta_secret):
    boss = User.objects.create_superuser(new_email(), people.PASSWORD)
    assert visitor.log_in(beta_secret, boss.email)["Location"] == "/espacios/"
    User.objects.filter(pk=boss.pk).update(email=(email := new_email()))
    assert Visitor().log_in(beta_secret, email)["Location"] == "/espacios/"
    assert set(errors(Visitor().log_in(beta_secret, boss.email))) == {"__all__"}


def test_an_unconfirmed_account_cannot_log_in_and_reads_what_to_do(mail, beta_secret):
    email, visitor = new_email(), Visitor()
    Visitor().sign_up(beta_secret, email)
    message = " ".join(errors(visitor.log_in(beta_secret, email))["__all__"])
    assert "abrir el enlace" in message
    assert "otra contraseña también la confirma" in message
    assert not visitor.is_in


def test_a_closed_account_cannot_log_in(visitor, beta_secret):
    user = people.person(is_active=False)
    assert visitor.log_in(beta_secret, user.email)["Location"] == "/acceso/inactiva/"
    assert visitor.get("/acceso/inactiva/").status_code == 200
    assert not visitor.is_in


def test_a_session_can_be_ended_from_another_and_only_by_its_owner(beta_secret):
    user = people.person()
    here, there, third = (
        Visitor(),
        Visitor(headers={"user-agent": "Mozilla/5.0 (X11; Linux) Firefox/1"}),
        Visitor(),
    )
    for client in (here, there, third):
        client.log_in(beta_secret, user.email)
    page = here.get("/cuenta/sesiones/").content.decode()
    assert "Firefox en Linux" in page
    assert there.defaults["REMOTE_ADDR"] in page
    number = re.search(r'name="session" value="(\d+)"', page)[1]
    other = people.client_of(people.person())
    for forged in (number, "0", "x", "9" * 5000, "-1", "١"):
        assert other.post("/cuenta/sesiones/", {"session": forged}).status_code == 404
    assert here.post("/cuenta/sesiones/", {"session": number}).status_code == 302
    assert [there.is_in, third.is_in].count(False) == 1
    here.post("/cuenta/sesiones/")
    assert [here.is_in, there.is_in, third.is_in] == [True, False, False]
    assert acts(user).count("account.session_ended") == 2


def test_verification_in_two_steps(beta_secret, mail):
    user, visitor = people.person(), Visitor()
    visitor.log_in(beta_secret, user.email)
    assert visitor.get("/cuenta/dos-pasos/activar/")["Location"].startswith("/cuenta/comprobar/")
    visitor.post("/cuenta/comprobar/", {"password": people.PASSWORD})
    page = visitor.get("/cuenta/dos-pasos/activar/")
    secret = page.context["form"].secret
    assert set(errors(visitor.post("/cuenta/dos-pasos/activar/", {"code": "000000"}))) == {"code"}
    done = visitor.post("/cuenta/dos-pasos/activar/", {"code": code_of(secret)})
    assert done["Location"] == "/cuenta/dos-pasos/codigos/"
    assert secret not in str(list(Authenticator.objects.filter(user=user).values_list("data", flat=True)))

    other = Visitor()
    assert other.log_in(beta_secret, user.email)["Location"] == "/acceso/codigo/"
    assert not other.is_in
    assert set(errors(other.post("/acceso/codigo/", {"code": "000000"}))) == {"code"}
    assert other.post("/acceso/codigo/", {"code": code_of(secret)})["Location"] == "/espacios/"
    assert other.is_in

    assert visitor.post("/cuenta/dos-pasos/quitar/").status_code == 302
    assert not Authenticator.objects.filter(user=user).exists()
    noted = acts(user)
    assert {"account.second_step_added", "account.second_step_removed", "account.second_step_failed"} <= {
        *noted
    }
    assert any("dos pasos" in message.subject for message in mail)


def test_recovery_codes_are_shown_once_and_work_once(beta_secret):
    user, visitor = people.person(), Visitor()
    visitor.log_in(beta_secret, user.email)
    visitor.post("/cuenta/comprobar/", {"password": people.PASSWORD})
    secret = visitor.get("/cuenta/dos-pasos/activar/").context["form"].secret
    visitor.post("/cuenta/dos-pasos/activar/", {"code": code_of(secret)})
    codes = visitor.get("/cuenta/dos-pasos/codigos/").context["unused_codes"]
    assert len(codes) == 10
    assert "****" in visitor.get("/cuenta/dos-pasos/codigos/").context["unused_codes"]
    for expected in ("/espacios/", None):
        other = Visitor()
        other.log_in(beta_secret, user.email)
        answer = other.post("/acceso/codigo/", {"code": codes[0]})
        assert answer.get("Location") == expected


def test_deleting_an_account_leaves_nothing_personal(beta_secret):
    email, visitor = new_email(), Visitor()
    visitor.sign_up(beta_secret, email)
    user = User.objects.get(email=email)
    alone = provision.create_workspace("only mine", owner_id=user.pk)
    shared = provision.create_workspace("shared")
    people.member(shared, "owner")
    people.member(shared, "member", user)
    boss = people.client_of(people.person(is_staff=True, is_superuser=True))
    renamed = {"email": email, "name": "Ana", "is_active": "on", "_save": ""}
    assert boss.post(f"/admin/accounts/user/{user.pk}/change/", renamed).status_code == 302
    assert fresh(user).name == "Ana"
    visitor.post("/cuenta/comprobar/", {"password": people.PASSWORD})
    page = visitor.get("/cuenta/borrar/").content.decode()
    assert alone.public_id in page
    assert shared.public_id not in page
    assert set(errors(visitor.post("/cuenta/borrar/", {"email": "other@example.com"}))) == {"email"}
    assert visitor.post("/cuenta/borrar/", {"email": email.upper()})["Location"] == "/"
    assert not User.objects.filter(pk=user.pk).exists()
    assert not Workspace.objects.filter(pk=alone.pk).exists()
    assert Workspace.objects.filter(pk=shared.pk).exists()
    assert acts(user)[-2:] == ["workspace.deleted", "account.deleted"]
    kept = [*Entry.objects.values(), *LogEntry.objects.values()]
    assert email not in str(kept)
    assert not visitor.is_in
    assert not any(user.pk == row.get_decoded().get("_auth_user_id") for row in Session.objects.all())


def test_the_only_owner_of_a_shared_workspace_must_hand_it_over_first():
    user = people.person()
    workspace = provision.create_workspace("ours", owner_id=user.pk)
    people.member(workspace, "member")
    client = people.client_of(user, password_again=True)
    assert "ours" in client.get("/cuenta/borrar/").content.decode()
    assert client.post("/cuenta/borrar/", {"email": user.email})["Location"] == "/cuenta/borrar/"
    assert User.objects.filter(pk=user.pk).exists()
    people.member(workspace, "owner")
    assert client.post("/cuenta/borrar/", {"email": user.email})["Location"] == "/"
    assert Membership.objects.filter(workspace=workspace).count() == 2


def test_a_misleading_name_is_refused():
    user = people.person()
    client = people.client_of(user)
    for bad in ("a\u202eb", "a\u200bb", "x" * 81, "раураl and paypal раypal", "a\nb", "a\x00b"):
        assert set(errors(client.post("/cuenta/", {"name": bad}))) == {"name"}, bad
    client.post("/cuenta/", {"name": "  Ana   <b>López</b> "})
    assert fresh(user).name == "Ana <b>López</b>"
    assert "<b>López" not in client.get("/cuenta/").content.decode()
    client.post("/cuenta/", {"name": ""})
    assert fresh(user).name == ""
