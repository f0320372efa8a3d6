"""From the outbox to the ledger: every receipt once, with the answer's own bytes, and without delaying a
lease."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from time import monotonic
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connections
from django.db.models import Count, Max

from coordination.authority import outbox
from coordination.authority import process as authority
from coordination.core.messages import Acquire, Granted, Release
from coordination.core.model import Mode
from coordination.wire.ids import new_lease_id
from intramedial.databases.threads import DatabaseThreads
from intramedial.ledger import log
from intramedial.ledger.models import Entry
from intramedial.receipts import receipt, signing
from tests.store.authorities import DIGEST, Database, PostgresDatabase

DECIDED_S = 9.0  # for a decision on a busy machine; a request to the ledger gives up after ten seconds

Leaves = dict[str, str]


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process's own authority, with a drain that waits only briefly."""
    monkeypatch.setattr(outbox, "RETRY_S", 0.05)
    monkeypatch.setattr(outbox, "LOOK_S", 0.2)
    before = authority.current().clock
    authority.current().stop()
    authority.current().clock = None
    authority.current().start()
    yield
    authority.current().stop()
    authority.current().clock = before


class Reader:
    """The ledger and the outbox, read in another thread."""

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.threads = DatabaseThreads("reader", 1)

    async def leaves(self) -> Leaves:
        """The workspace's entries by receipt id; the ledger's indexes have no gaps."""

        def read() -> Leaves:
            found = Entry.objects.aggregate(last=Max("index"), many=Count("index"))
            assert found["many"] == (0 if found["last"] is None else found["last"] + 1)
            return dict(Entry.objects.filter(workspace=self.workspace).values_list("receipt_id", "leaf"))

        return await self.threads.run(read)

    async def has(self, expected: Leaves, within_s: float = 30) -> None:
        """Wait until the ledger has these leaves, and check that it has no others of the workspace."""
        async with asyncio.timeout(within_s):
            while len(found := await self.leaves()) < len(expected):
                await asyncio.sleep(0.02)
        assert found == expected

    async def waiting(self) -> int:
        """How many rows of the workspace are in the outbox."""

        def read() -> int:
            with connections["leases"].cursor() as cursor:
                cursor.execute("SELECT count(*) FROM lease_outbox WHERE workspace = %s", [self.workspace])
                return int(cursor.fetchone()[0])

        return await self.threads.run(read)


@pytest.fixture
async def reader(workspace: Any) -> AsyncIterator[Reader]:
    reader = Reader(workspace.public_id)
    yield reader
    await reader.threads.run(connections.close_all)


async def cycles(workspace: str, many: int, first: int = 0) -> Leaves:
    """Acquire and release; returns the answers' receipts. No decision is slow."""

    async def answered(command: Any) -> tuple[str, str]:
        asked = authority.Ask(workspace, command, "workspace_key", DIGEST)
        began = monotonic()
        answer = await authority.get().ask(asked)
        assert monotonic() - began < DECIDED_S
        given = answer.receipt
        assert given is not None
        return given["id"], given["jws"]

    leaves = {}
    for number in range(first, first + many):
        name = f"lock:{number}"
        for command in (
            Acquire(name, Mode.EXCLUSIVE, "did:a", new_lease_id()),
            Release(name, "did:a"),
        ):
            receipt_id, jws = await answered(command)
            leaves[receipt_id] = jws
    return leaves


async def test_the_ledger_has_the_answers_own_bytes(reader: Reader) -> None:
    await reader.has(await cycles(reader.workspace, 5))
    async with asyncio.timeout(10):
        while await reader.waiting():
            await asyncio.sleep(0.02)


async def test_across_a_rotation_and_without_the_memory_of_what_was_signed(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "append", refuse)
    before = signing.current().kid
    answers = await cycles(reader.workspace, 3)
    signing.ring().rotate(publish_ahead_s=0)
    answers |= await cycles(reader.workspace, 3, first=3)
    assert signing.current().kid != before
    receipt.forget()
    monkeypatch.undo()
    await reader.has(answers)


def refuse(leaves: Any) -> int:
    raise OperationalError("planted")


async def test_a_ledger_that_refuses(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(log, "append", refuse)
        answers = await cycles(reader.workspace, 20)
        assert await reader.leaves() == {}
        assert await reader.waiting() == 40
    answers |= await cycles(reader.workspace, 5, first=20)
    await reader.has(answers)


async def test_a_ledger_that_is_locked(reader: Reader) -> None:
    """By another session that holds its file or its table, and lets go in the end."""
    holder = await asyncio.to_thread(hold_ledger)
    answers = await cycles(reader.workspace, 20)
    assert await reader.waiting() == 40
    await asyncio.to_thread(holder.close)
    await reader.has(answers)


def hold_ledger() -> Any:
    database = settings.DATABASES["ledger"]
    if database["ENGINE"].endswith("sqlite3"):
        holder = sqlite3.connect(database["NAME"], isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        return holder
    names = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER"}
    connection = psycopg.connect(**{name: database[key] for name, key in names.items()})
    connection.execute("LOCK TABLE ledger_entry")
    return connection


async def test_an_append_of_unknown_outcome_is_not_repeated(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries are in the ledger and still in the outbox, as after a crash between the two steps."""
    real, lost = log.append, []

    def append(leaves: Any) -> int:
        count = real(leaves)
        if len(lost) < 3:
            lost.append(len(leaves))
            raise OperationalError("planted: the answer was lost")
        return count

    monkeypatch.setattr(log, "append", append)
    await reader.has(await cycles(reader.workspace, 5))
    async with asyncio.timeout(10):
        while await reader.waiting():
            await asyncio.sleep(0.02)
    assert len(lost) == 3


async def test_receipts_of_an_unknown_key_delay_no_others(reader: Reader) -> None:
    """It waits for a process that has the key."""

    def put(store: Any) -> None:
        with store.transaction({}, authority.current().clock) as transaction:
            transaction.record(reader.workspace, "rcp_of_another_key", "a-kid-of-another-machine", b"{}")

    await asyncio.wrap_future(authority.get().run(put))
    await reader.has(await cycles(reader.workspace, 3))
    async with asyncio.timeout(10):
        while await reader.waiting() > 1:
            await asyncio.sleep(0.02)


async def test_an_expiry_is_in_the_ledger(reader: Reader) -> None:
    command = Acquire("lock:a", Mode.EXCLUSIVE, "did:a", new_lease_id())
    ask = authority.Ask(reader.workspace, command, "workspace_key", DIGEST)
    granted = (await authority.get().ask(ask)).outcome
    assert isinstance(granted, Granted)
    authority.current().clock = lambda: granted.lease.expires_at + 30_000
    await authority.get().tick()
    async with asyncio.timeout(10):
        while len(leaves := await reader.leaves()) < 2:
            await asyncio.sleep(0.02)
    assert len(leaves) == 2


def test_one_process_at_a_time_empties_the_outbox(postgres_database: PostgresDatabase) -> None:
    first, second = postgres_database.engine(), postgres_database.engine()
    postgres_database.rows(
        "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims) VALUES ('w', 'r', '', '')"
    )
    with first.outbox(10, [""]) as rows:
        assert [row[0] for row in rows] == ["r"]
        with second.outbox(10, [""]) as none:
            assert none == []
    with second.outbox(10, [""]) as rows:
        assert len(rows) == 1
    first.close()
    second.close()


def test_the_drain_takes_only_rows_of_known_keys(database: Database) -> None:
    for number, kid in enumerate(["", "mine", "theirs", "mine"]):
        database.rows(
            "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims)"
            f" VALUES ('w', 'rcp_{number}', '{kid}', '')"
        )
    engine = database.engine(readonly=True)
    with engine.outbox(10, ["", "mine"]) as rows:
        assert [row[0] for row in rows] == ["rcp_0", "rcp_1", "rcp_3"]
    with engine.outbox(2, ["", "mine"]) as rows:
        assert [row[0] for row in rows] == ["rcp_0", "rcp_1"]
    engine.close()
