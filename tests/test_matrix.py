"""The status of every address, operation and socket for every kind of caller is the one in the table.

An address, operation or socket that is not in the table fails.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from django.utils import timezone

from coordination.live import consumers
from coordination.pages.module import scenarios
from intramedial import api
from intramedial.workspaces import provision, trials
from intramedial.workspaces.models import Invitation, RegisteredAgent
from tests.api.client import Caller
from tests.live.browser import PATIENCE_S, page, socket
from tests.matrix import API_CALLERS, CALLERS, NEVER, OPERATIONS, PAGES, SOCKETS
from tests.people import client_of, member, person, session_of
from tests.records.conftest import Conduct, authority_clock, conduct, running_authority
from tests.records.pages import entered
from tests.signing import Agent

__all__ = ["authority_clock", "conduct", "running_authority"]

SAMPLES = {"name": "home", "reason": "lease_held", "form": "csv", "key": "x", "uidb36": "1"}


def routes(resolver: Any, prefix: str = "", namespace: str = "") -> Iterator[tuple[str, str]]:
    """Every address of the URLconf: its name and its route."""
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from routes(
                entry, route, f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            )
        else:
            yield f"{namespace}{entry.name or route}", route


ADDRESSES = dict(routes(get_resolver()))
OF_THE_ADMIN = {route for name, route in ADDRESSES.items() if name.startswith("admin:")}
# The pages of its log-in and log-out.
ENTRANCES = {"admin/login/", "admin/logout/", "admin/jsi18n/"}


@pytest.fixture
def people(workspace: Any) -> dict[str, Any]:
    """The callers' accounts."""
    other = person()
    provision.create_workspace("another", other.pk)
    insiders = {role: member(workspace, role) for role in ("viewer", "member", "owner")}
    return {"anonymous": None, **insiders, "other": other, "staff": person(is_staff=True, is_superuser=True)}


@pytest.fixture
def browsers(people: dict[str, Any]) -> dict[str, Client]:
    """The callers' browsers."""
    return {name: client_of(user, password_again=True) if user else Client() for name, user in people.items()}


@pytest.fixture
def address(workspace: Any, api_key: str, people: dict[str, Any], conduct: Conduct) -> Any:
    """`address(name)`: the address of a page, in a workspace that has one of everything."""
    conduct.acquire("did:example:ana")
    signer = RegisteredAgent.objects.create(workspace=workspace, did=Agent().did)
    invited = Invitation.objects.create(
        workspace=workspace,
        email="a@b.example",
        role="viewer",
        sha256="x",
        expires_at=timezone.now() + timedelta(days=1),
    )
    samples = SAMPLES | {
        "workspace": workspace.public_id,
        "prefix": api_key[: len("imk_") + 8],
        "agent": signer.pk,
        "person": workspace.memberships.get(role="viewer").pk,
        "invitation": invited.pk,
        "receipt": entered(workspace.public_id, 1)[0],
        "file": sorted(scenarios.FILES)[0],
    }
    yield lambda name: reverse(name, kwargs=arguments(name, samples))
    invited.delete()


def arguments(name: str, samples: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an address."""
    (((_text, names),), *_rest), *_ = get_resolver().reverse_dict.getlist(name)
    given = {key: samples[key] for key in names}
    return given | {"name": "help"} if name == "part_texts" else given


def test_the_table_has_every_address() -> None:
    assert {name for name in ADDRESSES if not name.startswith("admin:")} == set(PAGES)
    assert {str(route.pattern) for route in consumers.websocket_urlpatterns} == set(SOCKETS)
    operations = {(method, path) for path, by_method in api.routes_by_path().items() for method in by_method}
    assert operations == set(OPERATIONS)
    described = json.loads(api.description())["paths"]
    assert {(m.upper(), path) for path, by_method in described.items() for m in by_method} <= operations


def test_every_page_has_the_statuses_of_the_table(browsers: dict[str, Client], address: Any) -> None:
    wrong = []
    for name, row in PAGES.items():
        where = address(name)
        for caller, opened, sent in zip(CALLERS, row.get, row.post, strict=True):
            browser = browsers[caller]
            got = browser.get(where, row.query)
            answers = [("GET", opened, got)]
            if (opened, sent) != (405, 405):
                answers.append(("POST", sent, browser.post(where, row.sends, query_params=row.query)))
            wrong += [
                f"{caller} {method} {name}: {answer.status_code} instead of {expected}"
                for method, expected, answer in answers
                if answer.status_code != expected
            ]
            if caller == "anonymous" and opened == 302 and row.get[1] == 200 and name != "account_logout":
                assert got.headers["location"].startswith("/acceso/"), name
    assert wrong == []


def test_no_form_is_accepted_without_its_token(people: dict[str, Any], address: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = client_of(people["owner"], password_again=True).cookies
    for name, row in PAGES.items():
        if row.post != NEVER:
            assert browser.post(address(name), row.sends).status_code == 403, name


def test_the_admin_is_for_staff(browsers: dict[str, Client]) -> None:
    assert OF_THE_ADMIN > ENTRANCES
    for route in sorted(OF_THE_ADMIN - ENTRANCES):
        where = "/" + re.sub(r"<[^>]*>|\(\?P<url>\.\*\)\$", "1", route)
        for caller in ("anonymous", "owner", "staff"):
            answer = browsers[caller].get(where)
            if caller == "staff":
                assert answer.status_code in (200, 302, 403, 404, 405), where
                assert "/admin/login/" not in answer.headers.get("location", ""), where
            else:
                assert answer.status_code == 302, (caller, where)
                assert answer.headers["location"].startswith("/admin/login/"), (caller, where)


@pytest.fixture
async def callers(
    workspace: Any, api_key: str, people: dict[str, Any], running_authority: None
) -> AsyncIterator[dict[str, Caller]]:
    """The callers of the API."""

    def make() -> dict[str, Caller]:
        read_only = provision.create_api_key(workspace, read_only=True).secret
        bound = provision.create_api_key(workspace, actor_did="did:example:ana").secret
        agent = Agent()
        trials.begin(agent.did, agent.did)
        keys = {"key": api_key, "read_only": read_only, "bound": bound}
        made = {"anonymous": Caller(), "session": Caller(), "trial": Caller(agent=agent)}
        made["session"].http.cookies.set(settings.SESSION_COOKIE_NAME, session_of(people["owner"]))
        return made | {name: Caller(secret) for name, secret in keys.items()}

    made = await sync_to_async(make)()
    yield made
    for caller in made.values():
        await caller.close()


async def test_the_api_accepts_keys_and_no_sessions(callers: dict[str, Caller]) -> None:
    wrong = []
    for (method, path), statuses in OPERATIONS.items():
        for name, expected in zip(API_CALLERS, statuses, strict=True):
            body = {} if method == "POST" else None
            answer = await callers[name].call(method, path, body)
            if answer.status_code != expected:
                wrong.append(f"{name} {method} {path}: {answer.status_code} instead of {expected}")
    assert wrong == []


async def test_sockets_are_for_members(
    workspace: Any, people: dict[str, Any], running_authority: None
) -> None:
    consumers.start()
    wrong = []
    for route, statuses in SOCKETS.items():
        where = "/" + route.replace("<str:workspace>", workspace.public_id)
        for name, expected in zip(CALLERS, statuses, strict=True):
            session = await sync_to_async(session_of)(people[name]) if people[name] else None
            client = socket(where, page(session))
            assert (await client.connect(PATIENCE_S))[0]
            first = await client.receive_output(PATIENCE_S)
            status = first["code"] - 4000 if first["type"] == "websocket.close" else 0
            await client.disconnect(timeout=PATIENCE_S)
            if status != expected:
                wrong.append(f"{name} {where}: {status} instead of {expected}")
    await consumers.stop()
    assert wrong == []
