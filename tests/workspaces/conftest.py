"""People who open the pages of a workspace."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from tests.people import member, person, session_of


class Visitor(Client):
    """A person's browser."""

    def __init__(self, user: Any) -> None:
        super().__init__()
        self.user = user
        self.cookies[settings.SESSION_COOKIE_NAME] = session_of(user, password_again=True)

    def fill(self, path: str, **fields: Any) -> Any:
        """Open a page and send one of its forms unchanged, except for these fields."""
        page = self.get(path)
        form = page.context["form"]
        given = {name: form[name].value() for name in form.fields}
        given = {name: value for name, value in given.items() if value is not None}
        return self.post(path, given | fields)


@pytest.fixture
def visitor(migrated_databases: None) -> Callable[[Any], Visitor]:
    """`visitor(user)`: the browser of a person who is logged in."""
    return Visitor


@pytest.fixture
def owner(workspace: Any) -> Visitor:
    """The browser of the owner of `workspace`."""
    return Visitor(member(workspace, "owner"))


@pytest.fixture
def newcomer(migrated_databases: None) -> Visitor:
    """The browser of a person with an account and without a workspace."""
    return Visitor(person())


@pytest.fixture
def at(workspace: Any) -> Callable[[str], str]:
    """`at("claves/")`: an address of `workspace`."""
    return lambda path="": f"/espacios/{workspace.public_id}/{path}"
