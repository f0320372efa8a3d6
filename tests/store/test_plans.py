"""Every statement finds its rows by an index, on full tables and with stale statistics."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from typing import Any

import psycopg

from coordination.core.messages import Deadlock, Granted, Held, Released, Withdraw
from coordination.core.model import Mode
from coordination.storage.engines.base import Engine
from coordination.storage.engines.postgres import sql as postgres_sql
from coordination.storage.engines.postgres.engine import PostgresEngine
from coordination.storage.engines.postgres.session import PINNED
from coordination.storage.engines.sqlite.engine import SqliteEngine
from intramedial.postgresql import sessions
from tests.store.authorities import START, Database, PostgresDatabase, RunningAuthority, SqliteDatabase, Time
from tests.store.conftest import TABLES

ROWS = 20_000
HOUR_MS = 3_600_000
# Half of all resources are in one workspace, half are held, and some of those have waiters.
NUMBERS = f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
WORKSPACE = "CASE WHEN i % 2 = 0 THEN 'ws_big' ELSE 'ws_' || (i % 301) END"
WAITED = "CASE WHEN i % 3 = 0 THEN 'ws_' || (i % 301) ELSE 'ws_big' END"
FILL = [
    "INSERT INTO lease_resource (workspace, name, last_token, due_at, contended, used_at)"
    f" {NUMBERS} SELECT {WORKSPACE}, 'lock:' || i, 1,"
    f" CASE WHEN i % 4 < 2 THEN {START} + i END, i % 8 = 0, {START} FROM n",
    "INSERT INTO lease_lease (workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at)"
    f" {NUMBERS} SELECT CASE WHEN i % 4 = 0 THEN 'ws_big' ELSE 'ws_' || (i % 301) END, 'lock:' || i,"
    f" 'lse_of_' || i, 'did:' || (i % 997), 'exclusive', 1, {START}, {START} + i FROM n",
    "INSERT INTO lease_wait (workspace, resource, agent, mode, since, asked_at)"
    f" {NUMBERS} SELECT {WAITED}, 'lock:' || (i / 8 * 8), 'did:' || i, 'exclusive', {START}, {START} FROM n",
    "INSERT INTO lease_refusal (workspace, resource, agent, mode, holder, at)"
    f" {NUMBERS} SELECT {WAITED}, 'lock:' || (i / 8 * 8), 'did:' || i, 'exclusive', 'did:1', {START} FROM n",
    "INSERT INTO lease_agent (workspace, did, score, releases, expiries)"
    f" {NUMBERS} SELECT {WORKSPACE}, 'did:' || i, 500, 0, 0 FROM n",
    "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at)"
    f" {NUMBERS} SELECT {WORKSPACE}, 'did:' || i, 'lse_old_' || i, 5, 500, {START} FROM n",
    f"INSERT INTO lease_tenant (workspace, active, token_floor, stamp) {NUMBERS}"
    f" SELECT 'ws_of_' || i, 1, 0, 1 FROM n UNION ALL SELECT 'ws_big', {ROWS // 4}, 0, 1",
    f"INSERT INTO lease_outbox (workspace, receipt_id, kid, claims) {NUMBERS}"
    " SELECT 'ws_big', 'rcp_' || i, 'kid', '{}' FROM n",
]
# An hour later, without new statistics: by the old ones, everything was due before.
STALE = [
    f"UPDATE lease_resource SET due_at = due_at - {HOUR_MS} WHERE due_at IS NOT NULL",
    "ANALYZE",
    f"UPDATE lease_resource SET due_at = due_at + {HOUR_MS} WHERE due_at IS NOT NULL",
]
SMALL = {"lease_pulse", "lease_outage"}  # a row for each process, a row for each outage
# Read in the order of the index from its beginning, and only as far as asked.
IN_ORDER = {"resource_due", "lease_outbox_pkey", "lease_trust_move_pkey"}
MANY = 3_000  # no node of a plan may read so many rows
STEPS = 100_000  # of SQLite's virtual machine; a row that is found takes a dozen
# reads all waits on purpose
ALL_WAITS = re.compile(r"SELECT resource FROM lease_wait WHERE workspace = '\w+' UNION")
STEP = 500  # rows that may be read in vain at most: one step of the housekeeping


async def every_statement(authority: RunningAuthority, time: Time) -> None:
    """Make the authority use every statement that it sends to its database while it serves."""
    assert isinstance(await authority.acquire("did:1", "lock:7", workspace="ws_big"), Granted)
    assert isinstance(await authority.acquire("did:new", "lock:2", workspace="ws_big"), Granted)
    assert isinstance(await authority.acquire("did:new", "lock:2", workspace="ws_big"), Granted)
    assert isinstance(await authority.acquire("did:5", "lock:2", workspace="ws_big"), Held)
    assert isinstance(await authority.acquire("did:5", "lock:800", workspace="ws_big"), Held)
    assert isinstance(await authority.acquire("did:5", "lock:6", workspace="ws_big"), Granted)
    assert isinstance(await authority.acquire("did:new", "lock:6", workspace="ws_big"), Deadlock)
    assert isinstance(await authority.acquire("did:new", "lock:4", workspace="ws_big"), Held)
    await authority.ask(Withdraw("lock:6", "did:new"), "ws_big")
    await authority.ask(Withdraw("lock:4", "did:new"), "ws_big")
    assert isinstance(await authority.release("did:new", "lock:2", workspace="ws_big"), Released)
    await authority.acquire("did:reader", "doc:new", Mode.SHARED, workspace="ws_9")
    time.passes(250)  # the rows of FILL begin to expire
    assert isinstance(await authority.acquire("did:1", "lock:7", workspace="ws_big"), Granted)
    time.passes(250)
    await authority.tick()
    await authority.run_with(lambda store: look_at_outbox(store.engine))
    authority.thread.drained([f"rcp_{number}" for number in range(1, 500)]).result(timeout=10)
    for read in (
        lambda engine: engine.active_names("ws_big", "lock:3", 500),
        lambda engine: engine.contended_names("ws_9"),
        lambda engine: engine.refused("ws_9"),
        lambda engine: engine.names_of("ws_big", "did:8"),
        lambda engine: engine.latest(),
        lambda engine: engine.resources_after(("ws_9", "lock:3"), 500),
    ):
        await authority.run_with(lambda store, read=read: read(store.engine))
    await authority.run_with(lambda store: store.purge("ws_big", ["lock:2", "lock:10"], START + 1))
    await authority.run_with(lambda store: store.forget_history(START, 500))
    await authority.run_with(lambda store: store.forget_pulses(1))


def look_at_outbox(engine: Engine) -> int:
    with engine.outbox(500, ["", "kid"]) as rows:
        return len(rows)


# --- PostgreSQL -----------------------------------------------------------------------------------


class Recorded:
    """What an engine sends to PostgreSQL: each statement once, with its longest parameters."""

    def __init__(self, engine: PostgresEngine) -> None:
        self.statements: dict[str, Any] = {}
        session = engine._session()
        self._ask = session.ask
        session.ask = self._listen

    def _listen(self, *statements: Any) -> Any:
        for query, params in statements:
            self._note(query, params)
        return self._ask(*statements)

    def _note(self, query: str, params: Any) -> None:
        if query.startswith("WITH met AS ("):  # the guard refuses to run a second time
            query, params = query.removeprefix("WITH met AS (").rpartition(" RETURNING 1)")[0], params[:-1]
        if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE)", query):
            before = self.statements.get(query)
            if before is None or len(str(before)) < len(str(params)):
                self.statements[query] = params


def planned(connection: psycopg.Connection[Any], name: str, query: str, params: Any) -> None:
    """Let the session plan a statement, as it does once for all executions."""
    numbers = count(1)
    text = re.sub("%s", lambda _: f"${next(numbers)}", query)
    connection.execute(f"PREPARE {name} AS {text}", prepare=False)
    connection.execute(f"EXPLAIN EXECUTE {name}{given(connection, params)}", prepare=False)


def postgres_plan(connection: psycopg.Connection[Any], name: str, params: Any) -> dict[str, Any]:
    """The plan of a prepared statement, run with these parameters; its changes are undone."""
    with connection.transaction(force_rollback=True):
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}{given(connection, params)}"
        [[[found]]] = connection.execute(explain, prepare=False).fetchall()
    return found["Plan"]


def given(connection: psycopg.Connection[Any], params: Any) -> str:
    literals = ", ".join(psycopg.sql.Literal(param).as_string(connection) for param in params)
    return f"({literals})" if params else ""


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def fault_of(node: dict[str, Any]) -> str:
    """What is wrong with one step of a plan; empty if nothing is."""
    table, index = node.get("Relation Name", ""), node.get("Index Name", "")
    if table in SMALL or node["Node Type"] == "ModifyTable":
        return ""
    if node["Node Type"] == "Seq Scan":
        return f"reads all of {table}"
    if index and "Index Cond" not in node and index not in IN_ORDER:
        return f"reads all of {index}"
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    read = (node["Actual Rows"] + removed) * node["Actual Loops"]
    return f"reads {read} rows of {table} by {index}" if read > MANY or removed > STEP else ""


async def test_plans_of_postgresql(postgres_database: PostgresDatabase, authority_clock: Time) -> None:
    run(postgres_database, FILL)
    engine = postgres_database.engine()
    assert isinstance(engine, PostgresEngine)
    recorded = Recorded(engine)
    with running(engine) as authority:
        await every_statement(authority, authority_clock)
    assert len(recorded.statements) > 20
    assert postgres_faults(engine, recorded.statements) == []
    run(postgres_database, STALE)
    assert postgres_faults(engine, recorded.statements) == []
    tables = ", ".join(name for (name,) in postgres_database.rows(TABLES))
    known = (
        "DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'lease_%')"
    )
    run(postgres_database, [f"TRUNCATE {tables}", known])
    # A session keeps the plans that it made while the tables were empty.
    assert postgres_faults(engine, recorded.statements, lambda: run(postgres_database, FILL)) == []


async def test_old_moves_of_trust_are_found_by_id_with_any_statistics(
    postgres_database: PostgresDatabase,
) -> None:
    """The session plans with statistics of an empty table, and the table is full when the plan runs."""
    run(postgres_database, ["ANALYZE"])
    options = sessions.as_options(PINNED)
    with psycopg.connect(postgres_database.url, options=options, autocommit=True) as connection:
        planned(connection, "forget", postgres_sql.FORGET_MOVES, [STEP, START + 1])
        run(postgres_database, [statement for statement in FILL if "lease_trust_move" in statement])
        plan = postgres_plan(connection, "forget", [STEP, START + 1])
    assert {node["Index Name"] for node in nodes(plan) if "Index Name" in node} == {"lease_trust_move_pkey"}
    assert [fault_of(node) for node in nodes(plan) if fault_of(node)] == []


async def test_plans_after_a_time_without_due_resources(
    postgres_database: PostgresDatabase, authority_clock: Time
) -> None:
    """The statistics say that nothing is due, in one small workspace."""
    tables = ", ".join(name for (name,) in postgres_database.rows(TABLES))
    idle = f"{NUMBERS.replace(str(ROWS), '60')} SELECT 'ws_1', 'lock:' || i, 1, NULL, false, {START} FROM n"
    run(
        postgres_database,
        [f"{FILL[0].partition(' WITH ')[0]} {idle}", "ANALYZE", f"TRUNCATE {tables}", *FILL],
    )
    engine = postgres_database.engine()
    assert isinstance(engine, PostgresEngine)
    recorded = Recorded(engine)
    with running(engine) as authority:
        await every_statement(authority, authority_clock)
    assert postgres_faults(engine, recorded.statements) == []


def postgres_faults(
    engine: PostgresEngine, statements: dict[str, Any], between: Callable[[], None] = lambda: None
) -> list[str]:
    """What is wrong with the plans. `between`: statements to run after planning and before checking."""
    faults = []
    options = sessions.as_options(PINNED)
    with psycopg.connect(**engine._conninfo, options=options, autocommit=True) as connection:
        for number, query in enumerate(statements):
            planned(connection, f"told_{number}", query, statements[query])
        between()
        for number, query in enumerate(statements):
            plan = postgres_plan(connection, f"told_{number}", statements[query])
            faults += [f"{query}: {fault}" for node in nodes(plan) if (fault := fault_of(node))]
    return faults


# --- SQLite ---------------------------------------------------------------------------------------


async def test_plans_of_sqlite(sqlite_database: SqliteDatabase, authority_clock: Time) -> None:
    run(sqlite_database, FILL)
    engine = sqlite_database.engine()
    assert isinstance(engine, SqliteEngine)
    recorded: dict[str, str] = {}
    engine._db.set_trace_callback(lambda text: recorded.setdefault(re.sub(r"'[^']*'|\d+", "?", text), text))
    with running(engine) as authority:
        await every_statement(authority, authority_clock)
    statements = [text for text in recorded.values() if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE)", text)]
    assert len(statements) > 20
    looks = [text for text in statements if re.match(r"\s*(SELECT|WITH)", text)]
    assert sqlite_faults(sqlite_database, statements) == []
    assert sqlite_long_looks(sqlite_database, looks) == []
    run(sqlite_database, STALE)
    assert sqlite_faults(sqlite_database, statements) == []
    assert sqlite_long_looks(sqlite_database, looks) == []


def sqlite_long_looks(database: SqliteDatabase, statements: list[str]) -> list[str]:
    """An index may be used and still be read nearly whole: the steps of SQLite's virtual machine show it."""
    long = []
    with closing(sqlite3.connect(database.path)) as connection:
        for text in statements:
            steps = 0

            def hundred() -> int:
                nonlocal steps
                steps += 100
                return 0

            connection.set_progress_handler(hundred, 100)
            connection.execute(text).fetchall()
            if steps > STEPS and not ALL_WAITS.match(text):
                long.append(f"{text}: {steps} steps")
    return long


def sqlite_faults(database: SqliteDatabase, statements: list[str]) -> list[str]:
    return [
        f"{text}: {step}"
        for text in statements
        for *_, step in database.rows(f"EXPLAIN QUERY PLAN {text}")
        if reads_all(step) and not re.search(r"ORDER BY id LIMIT \d+\)?$", text)
    ]


def reads_all(step: str) -> bool:
    table = re.match(r"SCAN (lease_\w+)(?! USING (COVERING )?INDEX resource_due$)", step)
    return table is not None and table[1] not in SMALL


# --- both -----------------------------------------------------------------------------------------


def run(database: Database, statements: list[str]) -> None:
    for statement in statements:
        database.rows(statement)


@contextmanager
def running(engine: Engine) -> Iterator[RunningAuthority]:
    authority = RunningAuthority(engine)
    try:
        yield authority
    finally:
        authority.stop()
