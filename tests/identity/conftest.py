"""Authenticators with a clock that the test sets, and the requests that tests send them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from intramedial.databases.threads import DatabaseThreads
from intramedial.http.problems import Problem
from intramedial.workspaces.authentication.callers import Authenticator
from intramedial.workspaces.models import Trial, Workspace
from tests.signing import Agent

START = 1_800_000_000.0
LEASE = "/api/v1/acp/coordination/lease"
BODY = b'{"resource":"lock:a"}'
DAY_S = 86_400


def lease(agent, clock, **options):
    return agent.request("POST", LEASE, BODY, created=clock.now, **options)


async def refusal(coroutine):
    with pytest.raises(Problem) as caught:
        await coroutine
    return caught.value


def calls_used(trial):
    return Trial.objects.get(pk=trial.pk).calls_used


class Clock:
    """Seconds since the Unix epoch, as the test sets them."""

    def __init__(self):
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authenticator(clock: Clock, settings) -> Iterator[Authenticator]:
    settings.BASE_URL = "http://127.0.0.1:8000"
    opened = Authenticator(clock)
    yield opened
    opened.close()


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def trial(agent: Agent) -> Trial:
    """A trial of `agent` with 35 calls, for seven days from the clock's start."""
    return Trial.objects.create(
        did=agent.did,
        workspace=Workspace.objects.create(name="trial", semantic_classes={"lock": "shared"}),
        calls_limit=35,
        created_at=datetime.fromtimestamp(START, UTC),
        expires_at=datetime.fromtimestamp(START, UTC) + timedelta(days=7),
    )


@pytest.fixture
def in_thread() -> Iterator[Callable]:
    """`await in_thread(function, *arguments)`: blocking database work in a thread of the test's own."""
    threads = DatabaseThreads("test", 1)

    async def run(function, *arguments, **options):
        return await threads.run(lambda: function(*arguments, **options))

    yield run
    threads.close()
