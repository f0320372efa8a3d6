"""The legal pages are true: their figures are those of the settings, their cookies those that are set."""

import re

import pytest
from django.conf import settings as django_settings
from django.test import Client

from coordination.authority import maintenance
from intramedial.accounts.deletion import UNCONFIRMED_DAYS
from intramedial.legal import retention
from tests import people
from tests.accounts.conftest import Visitor

PAGES = ("/legal/aviso/", "/legal/privacidad/", "/legal/cookies/", "/legal/conservacion/")
# Each figure of the pages, set to a value that stands nowhere else, and the text in which it must appear.
FIGURES = {
    "AUDIT_DAYS": (7001, ("/legal/privacidad/", "/legal/conservacion/")),
    "ACCESS_REQUEST_DAYS": (7002, ("/legal/privacidad/", "/legal/conservacion/")),
    "SESSION_DAYS": (7003, ("/legal/cookies/", "/legal/conservacion/")),
    "TRIAL_DAYS": (7004, ("/legal/cookies/", "/legal/conservacion/")),
    "INVITATION_DAYS": (7005, ("/legal/conservacion/",)),
    "RESOURCE_DAYS": (7006, ("/legal/conservacion/",)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_comes_from_the_settings(settings, name):
    value, pages = FIGURES[name]
    setattr(settings, name, value)
    for page in pages:
        assert f"{value} días" in Client().get(page).content.decode()
        assert f"{value} days" in Client().get("/en" + page).content.decode()


def test_the_texts_contain_no_figures(settings):
    for name, (value, _) in FIGURES.items():
        setattr(settings, name, value)
    days = {value for value, _ in FIGURES.values()} | {retention.HISTORY_DAYS, UNCONFIRMED_DAYS}
    days.add(django_settings.CSRF_COOKIE_AGE // 86_400)
    for page in PAGES:
        main = re.search(r"<main.*</main>", Client().get(page).content.decode(), re.S)[0]
        assert {int(number) for number in re.findall(r"(\d+) días", main)} <= days
        assert set(re.findall(r"(\d+) hora", main)) <= {"1"}


def test_the_leases_module_forgets_after_the_published_time():
    assert retention.HISTORY_DAYS == maintenance.HISTORY_DAYS


def test_a_session_lasts_as_long_as_published(visitor, beta_secret):
    visitor.log_in(beta_secret, people.person().email)
    seconds = django_settings.SESSION_DAYS * 86_400
    assert visitor.cookies[django_settings.SESSION_COOKIE_NAME]["max-age"] == seconds


def test_every_cookie_that_is_set_is_published(visitor, beta_secret):
    published = {cookie.name for cookie in retention.cookies()}
    newcomer = Visitor()
    for page in ("/", "/verificar/", *PAGES):
        newcomer.get(page)
    assert set(newcomer.cookies) == set(), "none before there is a form"
    user = people.person()
    visitor.get("/acceso/")
    visitor.log_in(beta_secret, user.email)
    visitor.post("/cuenta/", {"name": "Ana"})
    visitor.get("/cuenta/")
    assert visitor.cookies[django_settings.SESSION_COOKIE_NAME]["httponly"]
    visitor.post("/salir/")
    assert set(visitor.cookies) <= published
    for cookie in visitor.cookies.values():
        assert (cookie["samesite"], cookie["path"]) == ("Lax", "/")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_leads_to_them(page):
    assert f'href="{page}"' in Client().get("/").content.decode()
