"""The process context: a test builds one of its own, puts it in place, uses it and shuts it down."""

import threading
from collections.abc import Iterator

import pytest

from coordination.authority import process
from coordination.authority.process import Ask, Process
from coordination.core.messages import Acquire, Granted
from coordination.core.model import Mode
from coordination.read import current
from coordination.wire.ids import new_lease_id
from intramedial.workspaces.models import Workspace
from tests.store.authorities import DIGEST

THREADS = {"authority", "outbox", "housekeeping", "clock-watch"}


def running() -> set[str]:
    """The threads of authorities that run now."""
    return {thread.name for thread in threading.enumerate()} & THREADS


@pytest.fixture
def own(migrated_databases: None) -> Iterator[Process]:
    """A context of the test's own, in place of the process's, which is stopped."""
    process.current().stop()
    before = process.use(Process())
    yield process.current()
    process.current().stop()
    process.use(before)


async def test_it_starts_by_itself_decides_reads_and_ends(own: Process, workspace: Workspace) -> None:
    command = Acquire("lock:own", Mode.EXCLUSIVE, "did:own", new_lease_id())
    ask = Ask(workspace.public_id, command, "workspace_key", DIGEST)
    assert running() == set()
    assert isinstance((await process.get().ask(ask)).outcome, Granted)
    assert process.get() is own.authority
    assert running() == THREADS
    picture = await current.picture(workspace.public_id)
    assert [held["holder"] for held in picture["holders"]] == ["did:own"]
    assert own.clock_ahead() == own.ledger_fault() == ""
    await own.close()
    assert own.authority is None
    assert running() <= {"clock-watch"}  # it wakes and ends by itself


async def test_it_starts_again_after_it_was_closed(own: Process) -> None:
    first = own.start()
    await own.close()
    assert own.start() is not first
    assert own.start() is own.authority


def test_contexts_share_nothing(own: Process) -> None:
    other = Process()
    other.passing.add("did:other")
    assert own.passing == set()
    assert own.publisher.publisher != other.publisher.publisher
