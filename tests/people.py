"""People with accounts, sessions and roles, for tests of pages and live boards."""

import itertools
import secrets
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.test import Client

PASSWORD = "a long pass phrase"
_numbers = itertools.count(1)


def person(email: str | None = None, **fields: Any) -> Any:
    """A saved account with the password `PASSWORD`, and with a new address unless one is given."""
    email = email or f"person{next(_numbers)}-{secrets.token_hex(4)}@example.com"
    return get_user_model().objects.create_user(email=email, password=PASSWORD, **fields)


def member(workspace: Any, role: str = "owner", user: Any = None) -> Any:
    """The account of a member of `workspace`; new unless `user` is given."""
    from intramedial.workspaces.models import Membership

    user = user or person()
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def a_beta_password() -> Any:
    """A valid beta password, the same each time."""
    from intramedial.accounts.models import BetaPassword

    known, _new = BetaPassword.objects.get_or_create(hash="tests", defaults={"prefix": "tests"})
    return known


def session_of(user: Any, password_again: bool = False, beta_password: Any = None) -> str:
    """The key of a new session of `user`, with a valid beta password unless another is given.
    `password_again`: the person has just typed the password again."""
    from allauth.account.internal.flows.login import record_authentication

    from intramedial.accounts import beta

    request = HttpRequest()
    request.session = SessionStore()
    auth.login(request, user, settings.AUTHENTICATION_BACKENDS[0])
    request.session[beta.SESSION] = (beta_password or a_beta_password()).pk
    if password_again:
        record_authentication(request, user, method="password", reauthenticated=True)
    request.session.save()
    return str(request.session.session_key)


def client_of(user: Any, password_again: bool = False) -> Client:
    """Django's test client with a session of `user`."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(user, password_again)
    return client


def cookie_of(user: Any, base_url: str = settings.BASE_URL, password_again: bool = False) -> dict[str, Any]:
    """A session of `user` in the form of Playwright's `context.add_cookies`."""
    session = session_of(user, password_again)
    return {"name": settings.SESSION_COOKIE_NAME, "value": session, "url": base_url}
