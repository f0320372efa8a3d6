"""People with accounts, sessions and roles, for tests of pages and live boards."""

import itertools
import secrets
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

PASSWORD = "a long pass phrase"
_numbers = itertools.count(1)


def person(email: str | None = None, **fields: Any) -> Any:
    """A saved account, with an address of its own unless one is given; its password is `PASSWORD`."""
    email = email or f"person{next(_numbers)}-{secrets.token_hex(4)}@example.com"
    return get_user_model().objects.create_user(email=email, password=PASSWORD, **fields)


def member(workspace: Any, role: str = "owner", user: Any = None) -> Any:
    """The account of a member of `workspace`, new unless one is given."""
    from intramedial.workspaces.models import Membership

    user = user or person()
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def session_of(user: Any) -> str:
    """The key of a new session of `user`."""
    request = HttpRequest()
    request.session = SessionStore()
    auth.login(request, user, "django.contrib.auth.backends.ModelBackend")
    request.session.save()
    return str(request.session.session_key)


def cookie_of(user: Any, base_url: str = settings.BASE_URL) -> dict[str, Any]:
    """A session of `user` as Playwright's `context.add_cookies` takes it."""
    return {"name": settings.SESSION_COOKIE_NAME, "value": session_of(user), "url": base_url}
