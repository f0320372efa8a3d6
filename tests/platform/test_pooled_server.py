"""Servers behind PgBouncer in transaction mode, with a pool that is smaller than their connections."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.server import command
from tests.services import PgBouncer, Postgres
from tests.store.kill9 import Caller

DID = "did:web:agents.example:{}"


@pytest.fixture(params=["refusing options", "dropping options"])
def pool(request: pytest.FixtureRequest, postgres_cluster: Postgres) -> Iterator[PgBouncer]:
    options = {"ignore_startup_parameters": "options"} if request.param == "dropping options" else {}
    pool = PgBouncer(postgres_cluster, default_pool_size=3, **options)
    try:
        yield pool.start()
    finally:
        pool.remove()


def test_servers_share_a_small_pool(
    live_server_process: Any, postgres_cluster: Postgres, pool: PgBouncer, redis_url: str
) -> None:
    name = postgres_cluster.create_database()
    server = live_server_process(DATABASE_URL=pool.url(name), REDIS_URL=redis_url, WEB_PROCESSES="2")

    def work(number: int) -> list[int]:
        caller, statuses = Caller(server), []
        with closing(caller.connection):
            for turn in range(40):
                body = {"resource": f"lock:{turn % 7}", "actorDid": DID.format(number)}
                statuses.append(caller.call("POST", "/lease", body)[0])
                statuses.append(caller.call("POST", "/release", body)[0])
                statuses.append(caller.call("GET", "/wait")[0])
        return statuses

    with ThreadPoolExecutor(8) as threads:
        statuses = [status for received in threads.map(work, range(8)) for status in received]
    assert set(statuses) == {200, 409}
    made = server.manage("apikey", "create", server.secrets["workspace"])
    assert made["apiKey"].startswith("imk_")
    with psycopg.connect(postgres_cluster.url(name), autocommit=True) as direct:
        deadline = time.monotonic() + 20
        query = "SELECT (SELECT count(*) FROM lease_outbox), (SELECT count(*) FROM ledger_entry)"
        while (counts := direct.execute(query).fetchone() or (1, 0))[0]:
            assert time.monotonic() < deadline, "the ledger did not take the receipts"
            time.sleep(0.1)
    assert counts[1] > 0
    assert server.terminate() == 0
    assert "Traceback" not in server.log


def test_settings_that_a_pooler_cannot_change_are_refused_with_what_to_run(
    bootstrapped_postgres: tuple[Path, str], postgres_cluster: Postgres, pool: PgBouncer
) -> None:
    name = postgres_cluster.create_database(bootstrapped_postgres[1])
    with psycopg.connect(postgres_cluster.url("postgres"), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
        admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    env = {"DATABASE_URL": pool.url(name), "INTRAMEDIAL_DATA_DIR": str(bootstrapped_postgres[0])}
    done = command("serve", env=env)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ALTER ROLE postgres SET default_transaction_isolation = 'read committed'" in done.stderr
    assert "ALTER ROLE postgres SET synchronous_commit = 'on'" in done.stderr
