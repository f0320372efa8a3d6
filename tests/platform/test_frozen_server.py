"""A server that is stopped in the middle of a transaction, beside another server on the same database."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPException
from typing import Any

import psycopg
import pytest

from coordination.storage.engines.postgres.engine import lock_number
from tests.server import ServerProcess
from tests.services import Postgres
from tests.store.kill9 import Caller

TTL_MS = "600000"
ANSWER_S = 5.0
HELD_BY_A = """
SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
 WHERE locktype = 'advisory' AND granted AND datname = current_database()
   AND client_port = ANY(%s) AND ((classid::bigint << 32) | objid::bigint) = %s
"""


def ports_of(pid: int) -> list[int]:
    """The local TCP ports of the connections of a process."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    with open(f"/proc/{pid}/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in inodes]


class Load(threading.Thread):
    """Acquires one resource after another from a server, and keeps the leases."""

    def __init__(self, server: ServerProcess, number: int) -> None:
        super().__init__(daemon=True)
        self.caller, self.number, self.stopping = Caller(server), number, threading.Event()
        self.granted: list[dict[str, Any]] = []
        self.statuses: set[int] = set()

    def run(self) -> None:
        turn = 0
        with closing(self.caller.connection):
            while not self.stopping.is_set():
                turn += 1
                body = {
                    "resource": f"lock:{self.number}-{turn % 200}",
                    "actorDid": f"did:web:a{self.number}.example",
                }
                with suppress(OSError, HTTPException):
                    status, answer = self.caller.call("POST", "/lease", body)
                    self.statuses.add(status)
                    if status == 200:
                        self.granted.append(answer["lease"])


@pytest.fixture
def loads() -> Iterator[list[Load]]:
    started: list[Load] = []
    yield started
    for load in started:
        load.stopping.set()
    for load in started:
        load.join(30)


def freeze_within_a_transaction(
    server: ServerProcess, workspace: str, database: "psycopg.Connection[Any]"
) -> None:
    """Stop the server's process when it holds the workspace's lock."""
    assert server.process is not None
    pid, deadline = server.process.pid, time.monotonic() + 30
    while time.monotonic() < deadline:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)  # PostgreSQL finishes the statements that it has received
        if database.execute(HELD_BY_A, [ports_of(pid), lock_number(workspace)]).fetchall():
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.013)
    pytest.fail("it was never met within a transaction")


def test_the_other_server_answers_and_no_lease_is_granted_twice(
    live_server_process: Any, postgres_cluster: Postgres, bootstrapped_postgres: Any, loads: list[Load]
) -> None:
    name = postgres_cluster.create_database(bootstrapped_postgres[1])
    env = {"DATABASE_URL": postgres_cluster.url(name), "INTRAMEDIAL_LEASE_TTL_MS": TTL_MS}
    frozen, other = live_server_process(**env), live_server_process(**env)
    # Both use one bootstrapped database, so the secrets of the first server are valid at both.
    made = frozen.manage("workspace", "create", "frozen")
    for server in (frozen, other):
        secrets = server.secrets | {"apiKey": made["apiKey"], "workspace": made["workspace"]}
        (server.data_dir / "bootstrap.json").write_text(json.dumps(secrets))
    for number in range(3):
        load = Load(frozen, number)
        loads.append(load)
        load.start()
    with psycopg.connect(postgres_cluster.url(name), autocommit=True) as database:
        freeze_within_a_transaction(frozen, made["workspace"], database)
        caller, waits = Caller(other), []
        with closing(caller.connection):
            for number in range(10):
                began = time.monotonic()
                body = {"resource": f"lock:other-{number}", "actorDid": "did:web:b.example"}
                status, answer = caller.call("POST", "/lease", body)
                waits.append(time.monotonic() - began)
                assert status in (200, 503), answer
            assert status == 200
            print(f"longest wait {max(waits):.2f} s")
            assert 1 < max(waits) < ANSWER_S
            os.kill(frozen.process.pid, signal.SIGCONT)
            time.sleep(1)
            for load in loads:
                load.stopping.set()
            for load in loads:
                load.join(30)
            assert {status for load in loads for status in load.statuses} <= {200, 409, 503}
            stored = dict(
                database.execute("SELECT resource, (lease_id, token)::text FROM lease_lease").fetchall()
            )
            granted = [lease for load in loads for lease in load.granted]
            assert granted
            for lease in granted:
                assert stored[lease["resource"]] == f"({lease['leaseId']},{lease['fencingToken']})"
            tokens = "SELECT resource FROM lease_lease GROUP BY resource HAVING count(*) > 1"
            assert database.execute(tokens).fetchall() == []
            body = {"resource": granted[-1]["resource"], "actorDid": "did:web:b.example"}
            assert caller.call("POST", "/lease", body)[0] == 409
    assert frozen.ready()
