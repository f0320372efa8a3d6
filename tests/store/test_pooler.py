"""PgBouncer in transaction mode: each transaction gets any free server connection."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db.utils import ConnectionHandler
from psycopg.conninfo import conninfo_to_dict

from coordination.core.messages import Granted, Released
from coordination.storage.engines.postgres.engine import PostgresEngine
from coordination.storage.engines.postgres.session import PINNED, Session
from intramedial import databases
from intramedial import settings_parsers as parsers
from tests.server import ROOT
from tests.services import PgBouncer, Postgres
from tests.store.authorities import PostgresDatabase, RunningAuthority

# PgBouncer refuses a session's start-up options, or ignores them: both are usual.
KINDS: dict[str, dict[str, object]] = {
    "refusing options": {"max_prepared_statements": 0},
    "dropping options": {"max_prepared_statements": 0, "ignore_startup_parameters": "options"},
    "knowing prepared statements": {"max_prepared_statements": 50},
}
POOL = 2


@pytest.fixture(params=KINDS)
def pool(request: pytest.FixtureRequest, postgres_cluster: Postgres) -> Iterator[PgBouncer]:
    pool = PgBouncer(postgres_cluster, default_pool_size=POOL, **KINDS[request.param])
    try:
        yield pool.start()
    finally:
        pool.remove()


@pytest.fixture
def pooled(pool: PgBouncer, postgres_database: PostgresDatabase) -> PostgresDatabase:
    """The database, through the pool."""
    return PostgresDatabase(pool.url(conninfo_to_dict(postgres_database.url)["dbname"]))


def django(url: str) -> Any:
    """A connection of Django's, to be closed by the caller."""
    description = databases.postgres_database(parsers.postgres_url(url))
    return ConnectionHandler({"default": description})["default"]


async def test_many_authorities_share_a_smaller_pool(pooled: PostgresDatabase, real_time: None) -> None:
    authorities = [RunningAuthority(pooled.engine(), process=f"process {number}") for number in range(6)]
    try:
        for turn in range(15):
            outcomes = await asyncio.gather(
                *(
                    authority.acquire(f"did:{number}", f"lock:{turn}", workspace=f"ws_{turn % 3}")
                    for number, authority in enumerate(authorities)
                )
            )
            granted = [number for number, one in enumerate(outcomes) if isinstance(one, Granted)]
            assert len(granted) == 1
            [winner] = granted
            where = {"resource": f"lock:{turn}", "workspace": f"ws_{turn % 3}"}
            assert isinstance(await authorities[winner].release(f"did:{winner}", **where), Released)
    finally:
        for authority in authorities:
            authority.stop()
    tokens = pooled.rows("SELECT count(*), min(last_token) FROM lease_resource")
    assert tokens == [(15, 1)]


def test_each_transaction_and_each_query_has_its_settings(pooled: PostgresDatabase) -> None:
    """Other clients of the pool may change the server connections' own settings."""
    with psycopg.connect(pooled.url, autocommit=True) as other:
        for _ in range(POOL * 2):
            other.execute("SET lock_timeout = '1h'")
            other.execute("SET statement_timeout = '1h'")
            other.execute("SET bytea_output = 'escape'")
    with closing(PostgresEngine(conninfo_to_dict(pooled.url))) as engine:
        shown = f"SELECT {', '.join(f'current_setting({name!r})' for name in PINNED)}"
        wanted = [PINNED[name] for name in PINNED]
        for _ in range(3):
            found = [engine._all(shown)[0]]
            engine.begin(["ws_1"])
            found += engine._all(shown)
            engine.rollback()
            for row in found:
                assert [_plain(value) for value in row] == [_plain(value) for value in wanted]
        assert engine._all("SELECT convert_to('ñ', 'UTF8')") == [("ñ".encode(),)]


def _plain(value: str) -> str:
    """PostgreSQL's durations as milliseconds."""
    seconds = re.fullmatch(r"(\d+)s", value)
    return f"{int(seconds[1]) * 1000}" if seconds else value


def test_nothing_stays_set_on_a_connection_of_the_pool(pooled: PostgresDatabase) -> None:
    def settings() -> set[Any]:
        with psycopg.connect(pooled.url, autocommit=True, prepare_threshold=None) as other:
            shown = "SELECT pg_backend_pid(), current_setting('enable_seqscan'), current_setting('jit')"
            return {other.execute(shown).fetchall()[0][1:] for _ in range(10)}

    before = settings()
    with closing(PostgresEngine(conninfo_to_dict(pooled.url))) as engine:
        for number in range(6):
            engine.begin([f"ws_{number}"])
            engine.commit("alone", number)
    assert settings() == before


def test_no_statement_is_left_prepared(pooled: PostgresDatabase) -> None:
    with closing(PostgresEngine(conninfo_to_dict(pooled.url))) as engine:
        for number in range(6):
            engine.begin([f"ws_{number}"])
            engine.agents([("ws_1", "did:a")])
            engine.commit("alone", number)
    for _ in range(POOL * 2):
        assert pooled.rows("SELECT name FROM pg_prepared_statements") == []


def test_a_session_that_turns_out_to_be_pooled_goes_on(pooled: PostgresDatabase) -> None:
    """A pooler that passes options on looks like a server. A missing prepared statement gives it away."""
    conninfo = conninfo_to_dict(pooled.url)
    with closing(PostgresEngine(conninfo)) as engine:
        engine.begin(["ws_1"])
        engine.rollback()
        engine._session().pooled = False
        blocked = psycopg.connect(pooled.url)  # another client has the connection on which it was prepared
        try:
            blocked.execute("SELECT 1")
            engine.begin(["ws_1"])
            engine.rollback()
            blocked.rollback()
            for number in range(10):
                other = psycopg.connect(pooled.url)
                other.execute("SELECT 1")
                engine.begin([f"ws_{number}"])
                engine.commit("alone", number)
                other.close()
        finally:
            blocked.close()


def test_a_name_stands_for_one_statement(postgres_database: PostgresDatabase) -> None:
    """Two sessions that share a server connection never run each other's statements."""
    conninfo = conninfo_to_dict(postgres_database.url)
    first, second = Session(conninfo), Session(conninfo)
    try:
        first.ask(("SELECT 1", ()), ("SELECT 2", ()))
        second.ask(("SELECT 2", ()), ("SELECT 1", ()))
        names = [
            dict(session.ask(("SELECT statement, name FROM pg_prepared_statements", ()))[0].rows)
            for session in (first, second)
        ]
        assert names[0]["SELECT 1"] == names[1]["SELECT 1"]
        assert names[0]["SELECT 2"] == names[1]["SELECT 2"]
    finally:
        first.close()
        second.close()


def test_the_outbox_keeps_no_connection_while_the_ledger_is_slow(
    postgres_cluster: Postgres, postgres_database: PostgresDatabase
) -> None:
    pool = PgBouncer(postgres_cluster, default_pool_size=1, query_wait_timeout=3).start()
    try:
        url = pool.url(conninfo_to_dict(postgres_database.url)["dbname"])
        with (
            closing(PostgresEngine(conninfo_to_dict(url))) as drain,
            closing(PostgresEngine(conninfo_to_dict(url))) as authority,
            drain.outbox(10, [""]),
        ):
            authority.begin(["ws_1"])
            authority.commit("alone", 1)
    finally:
        pool.remove()


def test_an_operators_options_are_not_silently_ignored(
    postgres_cluster: Postgres, postgres_database: PostgresDatabase
) -> None:
    pool = PgBouncer(postgres_cluster).start()
    try:
        conninfo = conninfo_to_dict(pool.url(conninfo_to_dict(postgres_database.url)["dbname"]))
        with pytest.raises(psycopg.OperationalError, match="unsupported startup parameter"):
            Session({**conninfo, "options": "-c search_path=app"})
    finally:
        pool.remove()


class TestDjango:
    def test_values_are_read_whatever_the_role_is_set_to(
        self, pooled: PostgresDatabase, postgres_database: PostgresDatabase
    ) -> None:
        name = conninfo_to_dict(postgres_database.url)["dbname"]
        alter = f'ALTER DATABASE "{name}"'
        for change in ("datestyle = 'SQL, DMY'", "timezone = 'Asia/Kathmandu'"):
            postgres_database.rows(f"{alter} SET {change}")
        found: list[Any] = []
        try:

            def look() -> None:
                connection = django(pooled.url)
                with connection.cursor() as cursor:
                    for _ in range(5):
                        cursor.execute(
                            "SELECT '2026-02-03T04:05:06Z'::timestamptz, current_setting('timezone')"
                        )
                        found.append(cursor.fetchone())
                connection.close()

            threads = [threading.Thread(target=look) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            postgres_database.rows(f"{alter} RESET ALL")
        assert {(moment.isoformat(), zone) for moment, zone in found} == {
            ("2026-02-03T04:05:06+00:00", "UTC")
        }
        assert len(found) == 30

    def test_rows_are_read_in_parts_without_a_cursor_of_the_session(self, pooled: PostgresDatabase) -> None:
        connection = django(pooled.url)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        assert connection.pooled
        assert connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]
        connection.close()


def test_no_lock_and_no_notification_outlives_its_transaction() -> None:
    session_level = re.compile(
        r"pg_(try_)?advisory_(lock|unlock)|\bLISTEN\b|\bpg_notify\b|\bWITH HOLD\b|\bCREATE TEMP"
    )
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for folder in ("coordination", "intramedial")
        for file in sorted(Path(ROOT, folder).rglob("*.py"))
        for match in session_level.finditer(file.read_text("utf-8"))
    ]
    assert found == []
