"""The API in this process, over an authority whose clock the test sets."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from coordination.authority import process as authority
from coordination.models import OutageRow
from intramedial.databases.threads import DatabaseThreads
from intramedial.workspaces import provision
from intramedial.workspaces.authentication import callers
from tests.api.client import Caller, did
from tests.signing import Agent


class Clock:
    """The authority's clock: milliseconds since the Unix epoch. The test moves it forward, never back."""

    now = int(time.time() * 1000)

    def __call__(self) -> int:
        return Clock.now

    async def advance(self, ms: int) -> None:
        """Let time pass, and let the authority reclaim what has expired."""
        Clock.now += ms
        await authority.get().tick()


@pytest.fixture
def authority_clock() -> Clock:
    """The clock of the authority."""
    return Clock()


@pytest.fixture(autouse=True)
def running_authority(migrated_databases: None, authority_clock: Clock) -> Iterator[None]:
    """An authority of the test's own. The test's clock jumps, so no jump counts as an outage, and neither
    does a jump from a test on the real clock."""
    authority.current().stop()
    OutageRow.objects.all().delete()
    authority.current().clock = authority_clock
    authority.current().start(outage_after_ms=None)
    yield
    authority.current().stop()
    callers.stop()
    authority.current().clock = None


@pytest.fixture
async def in_thread() -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """`await in_thread(function, *arguments)`: database work in a thread."""
    threads = DatabaseThreads("test", 1)

    async def run(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return await threads.run(lambda: function(*arguments, **options))

    yield run
    threads.close()


@pytest.fixture
async def caller(api_key: str) -> AsyncIterator[Caller]:
    """A caller with a key that acts for any agent of a new workspace."""
    caller = Caller(api_key)
    yield caller
    await caller.close()


@pytest.fixture
async def nothing_changes(caller: Caller) -> AsyncIterator[None]:
    """The picture of the workspace and the holder's trust are the same before and after the test."""
    lease = await caller.lease("lock:kept", did("keeper"))
    await caller.lease("lock:kept", did("waiter"))
    before = (await caller.wait()).json() | {"serverTime": ""}
    yield
    assert (await caller.wait()).json() | {"serverTime": ""} == before
    assert await caller.trust(did("keeper")) == {"score": 50.0, "releases": 0, "expiries": 0}
    assert (await caller.lease("lock:kept", did("keeper"))).json()["lease"]["leaseId"] == lease.json()[
        "lease"
    ]["leaseId"]


@pytest.fixture
async def anonymous() -> AsyncIterator[Caller]:
    """A caller without credentials."""
    caller = Caller()
    yield caller
    await caller.close()


@pytest.fixture
async def other_caller(in_thread: Callable[..., Awaitable[Any]]) -> AsyncIterator[Caller]:
    """A caller of another workspace."""

    def key() -> str:
        return provision.create_api_key(provision.create_workspace("other")).secret

    caller = Caller(await in_thread(key))
    yield caller
    await caller.close()


@pytest.fixture(autouse=True)
def room_for_trials(settings: Any) -> None:
    """All tests of a process come from one address, so the limit is high. A test of the limit sets it."""
    settings.TRIALS_PER_HOUR = settings.TRIALS_IN_ALL = 1_000_000


@pytest.fixture
async def visitor() -> AsyncIterator[Caller]:
    """A caller that signs with an unknown key."""
    caller = Caller(agent=Agent())
    yield caller
    await caller.close()


@pytest.fixture
async def trial(visitor: Caller) -> AsyncIterator[Caller]:
    """A visitor that has begun a trial from an address of its own."""
    assert visitor.agent is not None
    answer = await visitor.call("POST", "/api/v1/trial/keys", {"did": visitor.agent.did})
    assert answer.status_code == 201, answer.text
    yield visitor
