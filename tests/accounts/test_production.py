"""With production settings Django's checks find nothing, and there is no other way to log in."""

import os
import subprocess
import sys

import pytest
from django.test import Client
from django.urls import get_resolver

from intramedial import settings_parsers as parsers
from tests import people
from tests.server import ROOT


def test_check_deploy_is_clean(tmp_path):
    environment = {
        **os.environ,
        "INTRAMEDIAL_DATA_DIR": str(tmp_path),
        "INTRAMEDIAL_BASE_URL": "https://api.intramedial.com",
        "INTRAMEDIAL_EMAIL_URL": "smtps://user:secret@mail.example",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "manage.py", "check", "--deploy", "--fail-level", "DEBUG"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_the_policy_of_the_account_pages_has_no_exception():
    client = people.client_of(people.person(), password_again=True)
    for path in ("/cuenta/", "/cuenta/dos-pasos/activar/", "/acceso/", "/registro/"):
        answer = client.get(path)
        assert "unsafe" not in answer["Content-Security-Policy"]
        assert "style=" not in answer.content.decode()


def test_pages_of_an_account_are_not_kept_by_browsers():
    client = people.client_of(people.person(), password_again=True)
    parts = ("", "sesiones/", "correo/", "borrar/", "contrasena/", "comprobar/", "dos-pasos/activar/")
    for part in parts:
        assert "no-store" in client.get(f"/cuenta/{part}")["Cache-Control"]


def test_every_mounted_page_of_allauth_has_our_template():
    named = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    for name in ("account_request_login_code", "account_set_password", "mfa_add_webauthn", "login"):
        assert name not in named
    for path in ("/accounts/login/", "/login/", "/acceso/code/", "/admin/password_reset/"):
        assert Client().get(path).status_code in (404, 302)


@pytest.mark.parametrize(
    ("given", "host", "port", "tls", "ssl"),
    [
        ("smtp://mail.example", "mail.example", 25, False, False),
        ("smtp+tls://u:p%40ss@mail.example", "mail.example", 587, True, False),
        ("smtps://u:p%40ss@mail.example:2465", "mail.example", 2465, False, True),
    ],
)
def test_the_mail_settings_come_from_the_address(given, host, port, tls, ssl):
    found = parsers.email_url(given)
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == (host, port)
    assert (found["EMAIL_USE_TLS"], found["EMAIL_USE_SSL"]) == (tls, ssl)
    assert found["EMAIL_HOST_PASSWORD"] in ("", "p@ss")


@pytest.mark.parametrize("given", ["mail.example", "http://x", "smtp://", "smtp://x/y", "smtps://x:99999"])
def test_a_bad_mail_server_address_is_refused(given):
    with pytest.raises(ValueError):
        parsers.email_url(given)
