"""The legal pages say what is so: their figures are the settings', their cookies those that are set."""

import re

import pytest
from django.conf import settings as django_settings
from django.test import Client

from coordination.authority import maintenance
from intramedial.accounts.deletion import UNCONFIRMED_DAYS
from intramedial.legal import retention
from tests import people
from tests.accounts.conftest import Door

PAGES = ("/legal/aviso/", "/legal/privacidad/", "/legal/cookies/", "/legal/conservacion/")
# Each figure on the pages, set to one that stands nowhere else, and where it must show.
FIGURES = {
    "AUDIT_DAYS": (7001, ("/legal/privacidad/", "/legal/conservacion/")),
    "ACCESS_REQUEST_DAYS": (7002, ("/legal/privacidad/", "/legal/conservacion/")),
    "SESSION_DAYS": (7003, ("/legal/cookies/", "/legal/conservacion/")),
    "TRIAL_DAYS": (7004, ("/legal/cookies/", "/legal/conservacion/")),
    "INVITATION_DAYS": (7005, ("/legal/conservacion/",)),
    "RESOURCE_DAYS": (7006, ("/legal/conservacion/",)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_that_of_the_settings(settings, name):
    value, pages = FIGURES[name]
    setattr(settings, name, value)
    for page in pages:
        assert f"{value} días" in Client().get(page).content.decode()
        assert f"{value} days" in Client().get("/en" + page).content.decode()


def test_no_figure_stands_in_the_texts_themselves(settings):
    for name, (value, _) in FIGURES.items():
        setattr(settings, name, value)
    days = {value for value, _ in FIGURES.values()} | {retention.HISTORY_DAYS, UNCONFIRMED_DAYS}
    days.add(django_settings.CSRF_COOKIE_AGE // 86_400)
    for page in PAGES:
        main = re.search(r"<main.*</main>", Client().get(page).content.decode(), re.S)[0]
        assert {int(number) for number in re.findall(r"(\d+) días", main)} <= days
        assert set(re.findall(r"(\d+) hora", main)) <= {"1"}


def test_the_leases_module_forgets_when_the_page_says():
    assert retention.HISTORY_DAYS == maintenance.HISTORY_DAYS


def test_a_session_lasts_as_long_as_is_said(door, beta_secret):
    door.log_in(beta_secret, people.person().email)
    seconds = django_settings.SESSION_DAYS * 86_400
    assert door.cookies[django_settings.SESSION_COOKIE_NAME]["max-age"] == seconds


def test_no_cookie_is_set_that_is_not_said(door, beta_secret):
    said = {cookie.name for cookie in retention.cookies()}
    visitor = Door()
    for page in ("/", "/verificar/", *PAGES):
        visitor.get(page)
    assert set(visitor.cookies) == set(), "none before there is a form"
    user = people.person()
    door.get("/acceso/")
    door.log_in(beta_secret, user.email)
    door.post("/cuenta/", {"name": "Ana"})
    door.get("/cuenta/")
    assert door.cookies[django_settings.SESSION_COOKIE_NAME]["httponly"]
    door.post("/salir/")
    assert set(door.cookies) <= said
    for cookie in door.cookies.values():
        assert (cookie["samesite"], cookie["path"]) == ("Lax", "/")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_leads_to_them(page):
    assert f'href="{page}"' in Client().get("/").content.decode()
