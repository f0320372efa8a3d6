"""Databases with the authority's tables, and authorities over them that tests can command and disturb."""

import asyncio
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.utils import ConnectionHandler
from psycopg.conninfo import conninfo_to_dict

from coordination.authority import process as processes
from coordination.authority.replies import Answer, Ask, Unavailable
from coordination.authority.thread import Authority
from coordination.core.messages import Acquire, Command, Release
from coordination.core.model import Mode, Rules
from coordination.storage.engines.base import Engine
from coordination.storage.engines.postgres.engine import PostgresEngine
from coordination.storage.engines.sqlite.engine import SqliteEngine
from coordination.storage.store import Store
from intramedial import databases
from intramedial import settings_parsers as parsers
from tests.services import Postgres

DIGEST = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
START = 1_700_000_000_000


class Database(Protocol):
    """Where the authority's tables are. `shared`: whether several processes can use it at once."""

    shared: bool

    def engine(self, readonly: bool = False) -> Engine:
        """A new connection."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows that `query` returns; what it changes is committed."""


@dataclass
class SqliteDatabase:
    """A database in a file."""

    path: Path
    shared = False

    def engine(self, readonly: bool = False) -> Engine:
        return SqliteEngine(self.path, readonly)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            return connection.execute(query).fetchall()


@dataclass
class PostgresDatabase:
    """A database at an address."""

    url: str
    shared = True

    def engine(self, readonly: bool = False) -> Engine:
        return PostgresEngine(conninfo_to_dict(self.url))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []


def migrate(description: dict[str, Any]) -> None:
    """Make the authority's tables as its migrations do, without recording the migrations."""
    connection = ConnectionHandler({"default": description, "leases": description})["leases"]
    loader = MigrationLoader(None)
    state = ProjectState()
    for app, name in loader.graph.leaf_nodes("coordination"):
        for node in loader.graph.forwards_plan((app, name)):
            with connection.schema_editor() as editor:
                state = loader.get_migration(*node).apply(state, editor)
    connection.close()


def migrate_postgres(url: str) -> None:
    """Make the authority's tables in the PostgreSQL database at an address."""
    migrate(databases.postgres_database(parsers.postgres_url(url)))


@contextmanager
def private_postgres(durable: bool = False) -> Iterator[str]:
    """The address of a database with the authority's tables, on a cluster that is removed. For programs."""
    cluster = Postgres(durable)
    try:
        url = cluster.start().url(cluster.create_database())
        migrate_postgres(url)
        yield url
    finally:
        cluster.remove()


@contextmanager
def private_directory() -> Iterator[Path]:
    """A directory that is removed. For programs."""
    directory = Path(tempfile.mkdtemp(prefix="intramedial-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class Time:
    """A clock in milliseconds that moves when the test says so."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def passes(self, ms: int) -> None:
        self.now += ms


_numbers = count(1)


class RunningAuthority:
    """A running authority. `events` has what it published: (workspace, event), in order."""

    def __init__(
        self,
        engine: Engine,
        rules: Rules | None = None,
        outage_after_ms: int | None = None,
        process: str = "alone",
        publish: Callable[[str, list[Any]], None] | None = None,
    ) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.store = Store(engine, rules or Rules(), process, outage_after_ms, remember=True)
        self.thread = Authority(
            self.store,
            publish or self._publish,
            wanted=lambda workspace: True,
            clock=lambda: processes.current().clock,
        )
        self.thread.start()

    def _publish(self, workspace: str, events: list[dict[str, Any]]) -> None:
        self.events += [(workspace, event) for event in events]

    async def ask(self, command: Command, workspace: str = "ws_1", limit: int | None = None) -> Answer:
        return await self.thread.ask(Ask(workspace, command, "workspace_key", DIGEST, limit))

    async def acquire(
        self,
        agent: str,
        resource: str = "lock:a",
        mode: Mode = Mode.EXCLUSIVE,
        workspace: str = "ws_1",
        queue: bool = True,
        limit: int | None = None,
    ) -> Any:
        """Acquire; returns the outcome."""
        command = Acquire(resource, mode, agent, f"lse_{next(_numbers)}", queue)
        return (await self.ask(command, workspace, limit)).outcome

    async def release(
        self, agent: str, resource: str = "lock:a", lease_id: str | None = None, workspace: str = "ws_1"
    ) -> Any:
        """Release; returns the outcome."""
        return (await self.ask(Release(resource, agent, lease_id), workspace)).outcome

    async def run_with(self, job: Callable[[Store], Any]) -> Any:
        """Run a job on the authority's thread; returns its result."""
        return await asyncio.wrap_future(self.thread.run(job))

    async def tick(self) -> None:
        await self.thread.tick()

    def held(self) -> AbstractContextManager[None]:
        """Keep the thread busy: see the function `held`."""
        return held(self.thread)

    async def together(self, *asking: Any) -> list[Any]:
        """Ask all of `asking` at once and decide them in one batch; returns outcomes, or what was raised."""
        with self.held():
            tasks = [asyncio.ensure_future(one) for one in asking]
            await asyncio.sleep(0)  # each has put its command into the queue now
        return await asyncio.gather(*tasks, return_exceptions=True)

    async def deserted(self, asking: Any) -> None:
        """Ask, and cancel the caller before the command is decided."""
        with self.held():
            task = asyncio.ensure_future(asking)
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        """The published events of one kind.

        Events are published after the answers are given. So a job on the authority's thread comes first:
        when it is done, the events of every answer so far are published.
        """
        with suppress(Unavailable):  # it has ended, and publishes no more
            self.thread.run(lambda store: None).result(30)
        return [event for _, event in self.events if event["event"] == kind]

    def stop(self) -> None:
        self.thread.stop()


@contextmanager
def held(authority: Authority) -> Iterator[None]:
    """Keep an authority's thread busy inside the context, so that everything asked in it is decided in one
    batch."""
    begun, ended = threading.Event(), threading.Event()
    authority.run(lambda store: (begun.set(), ended.wait(30)))
    assert begun.wait(30)
    try:
        yield
    finally:
        ended.set()


@dataclass
class Faulty:
    """An engine whose storage fails at the stage that `failing` names.

    Stages: begin, load, members, write, commit (the commit was not made), answer (the commit was made, its
    answer is lost).
    """

    engine: Engine
    failing: str = ""
    seen: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def _stage(self, stage: str) -> None:
        self.seen.append(stage)
        if self.failing == stage:
            from coordination.storage.engines.base import InDoubt, StorageFault

            raise (InDoubt if stage in ("commit", "answer") else StorageFault)(f"planted in {stage}")

    def begin(self, workspaces: Sequence[str], horizon: int | None = None) -> Any:
        self._stage("begin")
        return self.engine.begin(workspaces, horizon)

    def load(self, want: Any, now: int) -> Any:
        self._stage("load")
        return self.engine.load(want, now)

    def members(self, active: Any, contended: Any) -> Any:
        self._stage("members")
        return self.engine.members(active, contended)

    def write(self, changes: Any) -> None:
        self._stage("write")
        self.engine.write(changes)

    def commit(self, process: str | None, now: int) -> None:
        self._stage("commit")
        self.engine.commit(process, now)
        self._stage("answer")


async def until(true: Callable[[], object], within_s: float = 30) -> None:
    """Wait until `true()` holds; another thread makes it so."""
    async with asyncio.timeout(within_s):
        while not true():
            await asyncio.sleep(0.002)
