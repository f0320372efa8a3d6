"""Visitors: clients with an address of their own; and beta passwords."""

import itertools
import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from tests import people

_addresses = itertools.count(1)
PASSWORD = people.PASSWORD


def address() -> str:
    """An address that no other visitor has."""
    number = next(_addresses)
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def new_email() -> str:
    """An e-mail address without an account."""
    return f"new-{secrets.token_hex(6)}@example.com"


class Visitor(Client):
    """A client with its own address that fills in the forms of sign-up and log-in."""

    def __init__(self, **extra: Any) -> None:
        super().__init__(REMOTE_ADDR=address(), **extra)

    def sign_up(self, beta: str, email: str | None = None, password: str = PASSWORD, **more: Any) -> Any:
        """Send the form of sign-up."""
        data = {"email": email or new_email(), "password1": password, "beta_password": beta}
        return self.post("/registro/", data | more)

    def log_in(self, beta: str, email: str, password: str = PASSWORD, **more: Any) -> Any:
        """Send the form of log-in."""
        return self.post("/acceso/", {"login": email, "password": password, "beta_password": beta} | more)

    @property
    def is_in(self) -> bool:
        """Whether a page that needs an account opens."""
        return self.get("/cuenta/").status_code == 200


@pytest.fixture
def visitor() -> Visitor:
    """A visitor without a session."""
    return Visitor()


@pytest.fixture
def beta_secret() -> str:
    """A valid beta password."""
    return make_beta()


@pytest.fixture
def mail(settings: Any) -> list[Any]:
    """Mail is configured; the messages that were sent."""
    from django.core import mail as django_mail

    settings.SENDS_MAIL = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    django_mail.outbox = []
    return django_mail.outbox


@pytest.fixture(autouse=True)
def nothing_counted_before() -> None:
    """Reset the counters of allauth's own limits."""
    cache.clear()


def make_beta(**fields: Any) -> str:
    """A new beta password with these fields; returns the secret."""
    from intramedial.accounts import beta
    from intramedial.accounts.models import BetaPassword

    secret = beta.create()
    if fields:
        BetaPassword.objects.filter(hash=beta.digest(secret)).update(**fields)
    return secret


def row_of(secret: str) -> Any:
    """The row of a beta password."""
    from intramedial.accounts import beta
    from intramedial.accounts.models import BetaPassword

    return BetaPassword.objects.get(hash=beta.digest(secret))


def expired() -> str:
    """A beta password that has expired."""
    return make_beta(expires_at=timezone.now() - timedelta(seconds=1))


def revoked() -> str:
    """A beta password that was revoked."""
    return make_beta(revoked_at=timezone.now())


def used_up() -> str:
    """A beta password with no sign-up left."""
    return make_beta(max_uses=1, uses=1)


def errors(answer: HttpResponse) -> dict[str, list[str]]:
    """The messages of the page's form, by field."""
    found: dict[str, list[str]] = answer.context["form"].errors.get_json_data()
    return {field: [error["message"] for error in faults] for field, faults in found.items()}


def acts(user: Any) -> list[str]:
    """The acts of an account in the audit log, oldest first."""
    from intramedial.audit.models import Entry

    return list(Entry.objects.filter(actor=user.pk).order_by("pk").values_list("action", flat=True))
