"""Settings of databases and roles that change what statements mean. They have no effect, or the start is
refused with a text."""

import asyncio
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from coordination.core.messages import Granted
from tests import server as servers
from tests.services import Postgres
from tests.store.authorities import PostgresDatabase, RunningAuthority, migrate_postgres
from tests.store.kill9 import Caller

KIDS = "SELECT kid FROM lease_outbox"

# Each is the opposite of what the product needs, or as little as PostgreSQL allows.
HOSTILE = {
    "datestyle": "'SQL, DMY'",
    "intervalstyle": "iso_8601",
    "timezone": "'Asia/Kathmandu'",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "client_encoding": "latin1",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "synchronous_commit": "off",
    "statement_timeout": "1",
    "lock_timeout": "1",
    "idle_in_transaction_session_timeout": "1",
    "idle_session_timeout": "1",
    "exit_on_error": "on",
    "client_min_messages": "debug5",
    "enable_indexscan": "off",
    "plan_cache_mode": "force_custom_plan",
    "lc_messages": "'C'",
    "xmloption": "document",
    "default_tablespace": "nowhere",
    "default_toast_compression": "pglz",
    "constraint_exclusion": "on",
    "check_function_bodies": "off",
    "lc_monetary": "'C'",
}


def alter(cluster: Postgres, target: str, settings: dict[str, str]) -> None:
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as admin:
        for name, value in settings.items():
            admin.execute(f"ALTER {target} SET {name} = {value}".encode())


def run(command: str, data_dir: Path, url: str) -> "subprocess.CompletedProcess[str]":
    options = ["--json"] if command == "bootstrap" else []
    env = {"DATABASE_URL": url, "INTRAMEDIAL_DATA_DIR": str(data_dir)}
    return servers.command(command, *options, env=env)


@pytest.mark.parametrize("of", ["database", "role"])
def test_a_hostile_database_is_set_up_and_serves(
    live_server_process: Any, postgres_cluster: Postgres, of: str
) -> None:
    name, role = postgres_cluster.create_database(), f"role_of_{os.urandom(4).hex()}"
    with psycopg.connect(postgres_cluster.url("postgres"), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN".encode())
        admin.execute(f"ALTER DATABASE {name} OWNER TO {role}".encode())
    target = {
        "database": f"DATABASE {name}",
        "role": f"ROLE {role}",
    }[of]
    with psycopg.connect(postgres_cluster.url(name), autocommit=True) as admin:
        admin.execute(f"GRANT ALL ON SCHEMA public TO {role}".encode())
    alter(postgres_cluster, target, HOSTILE)
    url = f"postgresql://{role}@127.0.0.1:{postgres_cluster.port}/{name}"
    server = live_server_process(DATABASE_URL=url)
    caller = Caller(server)
    body = {"resource": "lock:ñ 'x' \\ \"y\"", "actorDid": "did:web:ana.example"}
    with closing(caller.connection):
        for _ in range(3):
            status, answer = caller.call("POST", "/lease", body)
            assert (status, answer["ok"]) == (200, True), answer
        assert caller.call("GET", "/wait")[1]["holders"][0]["resource"] == body["resource"]
        assert caller.call("POST", "/release", body)[0] == 200
    assert server.manage("workspace", "create", "Año «nuevo»")["workspace"].startswith("ws_")
    assert server.terminate() == 0
    assert "Traceback" not in server.log


async def test_the_authority_reads_and_writes_the_same_under_hostile_settings(
    postgres_cluster: Postgres, real_time_: None
) -> None:
    name = postgres_cluster.create_database()
    alter(postgres_cluster, f"DATABASE {name}", HOSTILE)
    url = postgres_cluster.url(name)
    await asyncio.to_thread(migrate_postgres, url)
    database = PostgresDatabase(url)
    authority = RunningAuthority(database.engine())
    try:
        assert isinstance(await authority.acquire("did:ñ", "lock:€ 'a' \\"), Granted)
        kids = [kid for (kid,) in await authority.run_with(lambda store: store.engine._all(KIDS))]
        with closing(database.engine()) as other, other.outbox(10, kids) as rows:
            assert [json.loads(bytes(row[3]))["sub"] for row in rows] == ["did:ñ"]
    finally:
        await asyncio.to_thread(authority.stop)


@pytest.fixture
def real_time_() -> Any:
    from coordination.authority import process

    before = process.current().clock
    process.current().clock = None
    yield
    process.current().clock = before


REFUSED = {
    "default_transaction_read_only": ("on", "read only"),
    "search_path": ("nowhere", "search_path (nowhere)"),
    "search_path, to what is dropped again": ("pg_temp, public", "search_path (pg_temp, public)"),
    "session_replication_role": ("replica", "session_replication_role"),
}


@pytest.mark.parametrize("setting", REFUSED)
def test_a_database_that_cannot_be_used_is_refused_with_a_text(
    bootstrapped_postgres: tuple[Path, str], postgres_cluster: Postgres, setting: str
) -> None:
    value, words = REFUSED[setting]
    data_dir, template = bootstrapped_postgres
    name = postgres_cluster.create_database(template)
    alter(postgres_cluster, f"DATABASE {name}", {setting.partition(",")[0]: value})
    # Both commands make the same check. The last setting shows that both make it.
    for command in ("bootstrap", "serve")[: 2 if setting == "session_replication_role" else 1]:
        done = run(command, data_dir, postgres_cluster.url(name))
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_database_of_another_encoding_is_refused_with_a_text(
    tmp_path: Path, postgres_cluster: Postgres
) -> None:
    name = f"latin_{os.urandom(4).hex()}"
    with psycopg.connect(postgres_cluster.url("postgres"), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'".encode())
    done = run("bootstrap", tmp_path, postgres_cluster.url(name))
    assert (done.returncode, done.stdout) == (1, "")
    assert "ENCODING 'UTF8'" in done.stderr
    assert "Traceback" not in done.stderr


def test_bootstrap_explains_that_the_database_cannot_be_reached(tmp_path: Path) -> None:
    done = run("bootstrap", tmp_path, "postgresql://me:hunter2@127.0.0.1:1/none")
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


def test_options_of_the_address_are_kept_beside_the_pinned_ones(
    tmp_path: Path, postgres_cluster: Postgres
) -> None:
    name = postgres_cluster.create_database()
    with psycopg.connect(postgres_cluster.url(name), autocommit=True) as admin:
        admin.execute("CREATE SCHEMA app")
    url = f"{postgres_cluster.url(name)}?options=-c%20search_path%3Dapp%20-c%20datestyle%3DSQL"
    assert run("bootstrap", tmp_path, url).returncode == 0
    with psycopg.connect(postgres_cluster.url(name)) as connection:
        query = "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'lease%'"
        assert connection.execute(query).fetchall() == [("app",)]
    assert conninfo_to_dict(postgres_cluster.url(name))["dbname"] == name
