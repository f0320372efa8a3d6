"""How a server starts and ends. The exit code is 0 after a signal to stop, and another one after a fault."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from coordination.storage.engines.postgres.engine import lock_number
from tests.server import ROOT, ServerProcess
from tests.services import Postgres, free_port
from tests.store.kill9 import Caller

DEADLINE_S = 180.0
BODY = {"resource": "lock:a", "actorDid": "did:web:ana.example"}


def serve(data_dir: Path, *options: str, **env: str) -> "subprocess.Popen[str]":
    given = {"DATABASE_URL": "", "PORT": str(free_port()), "INTRAMEDIAL_DATA_DIR": str(data_dir), **env}
    return subprocess.Popen(
        [sys.executable, "manage.py", "serve", *options],
        cwd=ROOT,
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(true: Any) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def workers(server: ServerProcess) -> list[int]:
    """The process ids of the server's workers."""
    assert server.process is not None
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return [int(pid) for pid in children.split()]


def catches(pid: int, signum: signal.Signals) -> bool:
    """Whether a process has its own handler for the signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(status.split("SigCgt:")[1].split()[0], 16) & (1 << (signum - 1)))


def answers(server: ServerProcess) -> bool:
    """Whether the server answers over a new connection."""
    caller = Caller(server)
    with closing(caller.connection):
        return caller.call("POST", "/lease", BODY)[0] == 200


def takes_connections(server: ServerProcess) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), 5).close()
    except OSError:
        return False
    return True


@pytest.fixture
def own_cluster() -> Iterator[Postgres]:
    """A private cluster, which the test may stop."""
    cluster = Postgres()
    try:
        yield cluster.start()
    finally:
        cluster.remove()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_is_no_fault(live_server_process: Any, signum: signal.Signals) -> None:
    server = live_server_process()
    server.process.send_signal(signum)
    assert server.process.wait(DEADLINE_S) == 0
    assert "Traceback" not in server.log


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_during_the_start_is_no_fault(bootstrapped: Path, signum: signal.Signals) -> None:
    process = serve(bootstrapped)
    until(lambda: b"manage.py" in Path(f"/proc/{process.pid}/cmdline").read_bytes())
    until(lambda: catches(process.pid, signal.SIGTERM))  # before, the signal ends the interpreter itself
    process.send_signal(signum)
    _, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, log
    assert "Traceback" not in log


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_the_program_is_loaded_is_no_fault(tmp_path: Path, signum: signal.Signals) -> None:
    (tmp_path / "django").mkdir()
    slow = "import pathlib, time; pathlib.Path(__file__).with_name('begun').touch(); time.sleep(60)"
    (tmp_path / "django" / "__init__.py").write_text(slow)
    process = serve(tmp_path, PYTHONPATH=str(tmp_path))
    until((tmp_path / "django" / "begun").exists)
    process.send_signal(signum)
    _, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, log
    assert "Traceback" not in log


def test_an_authority_that_cannot_start_is_a_fault(live_server_process: Any) -> None:
    """Another server is already the authority over the same file."""
    server = live_server_process()
    second = serve(server.data_dir)
    out, log = second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 3
    assert out == ""
    assert "another process is the authority over this database" in log
    assert "Traceback" not in log


def test_storage_that_cannot_be_written_is_a_fault(bootstrapped: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in bootstrapped.iterdir():
        if file.is_file():
            (broken / file.name).write_bytes(
                b"no database" * 100 if "leases" in file.name else file.read_bytes()
            )
    process = serve(broken)
    out, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert out == ""
    assert "leases.sqlite3: file is not a database" in log
    assert "Traceback" not in log


class TestSeveralProcesses:
    def test_the_others_go_on_while_a_worker_cannot_start_again(
        self, live_server_process: Any, own_cluster: Postgres, redis_url: str
    ) -> None:
        url = own_cluster.url(own_cluster.create_database())
        server = live_server_process(DATABASE_URL=url, REDIS_URL=redis_url, WEB_PROCESSES="2")
        until(lambda: len(workers(server)) == 2)
        own_cluster.stop()
        killed, kept = workers(server)
        os.kill(killed, signal.SIGKILL)
        until(lambda: server.log.count("ended with exit code 3") >= 2)
        assert server.process.poll() is None
        assert kept in workers(server)
        caller = Caller(server)
        with closing(caller.connection):
            assert caller.call("POST", "/lease", BODY)[0] == 503
        own_cluster.start()
        until(lambda: answers(server))
        until(lambda: len(workers(server)) == 2)
        assert server.terminate() == 0
        assert "Traceback" not in server.log

    def test_a_stop_answers_requests_that_have_arrived(
        self, live_server_process: Any, postgres_url: str, redis_url: str
    ) -> None:
        server = live_server_process(DATABASE_URL=postgres_url, REDIS_URL=redis_url, WEB_PROCESSES="2")
        workspace, received = server.secrets["workspace"], []

        def ask() -> None:
            caller = Caller(server)
            with closing(caller.connection):
                received.append(caller.call("POST", "/lease", BODY)[0])

        with psycopg.connect(postgres_url, autocommit=True) as database:
            database.execute("SELECT pg_advisory_lock(%s)", [lock_number(workspace)])
            asking = threading.Thread(target=ask)
            asking.start()
            waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until(lambda: database.execute(waits).fetchall())
            server.process.terminate()
            until(lambda: not takes_connections(server))
            database.execute("SELECT pg_advisory_unlock(%s)", [lock_number(workspace)])
        asking.join(DEADLINE_S)
        assert received in ([200], [503])  # the request gets the lock in time, or not
        assert server.process.wait(DEADLINE_S) == 0

    def test_a_supervisor_that_is_killed_leaves_no_worker(
        self, live_server_process: Any, postgres_url: str, redis_url: str
    ) -> None:
        server = live_server_process(DATABASE_URL=postgres_url, REDIS_URL=redis_url, WEB_PROCESSES="2")
        until(lambda: len(workers(server)) == 2)
        left = workers(server)
        server.process.kill()
        server.process.wait(DEADLINE_S)
        until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in left))
        assert not server.ready()


class TestAnnouncement:
    @pytest.mark.parametrize("processes", ["1", "2"])
    def test_the_address_is_a_line_of_the_log_on_stdout(
        self,
        bootstrapped_postgres: tuple[Path, str],
        postgres_cluster: Postgres,
        redis_url: str,
        processes: str,
    ) -> None:
        data_dir, template = bootstrapped_postgres
        url = postgres_cluster.url(postgres_cluster.create_database(template))
        env = {
            "DATABASE_URL": url,
            "REDIS_URL": redis_url,
            "WEB_PROCESSES": processes,
            "PORT": str(free_port()),
        }
        for options in ([], ["--json"]):
            process = serve(data_dir, *options, **env)
            assert process.stdout is not None
            line = json.loads(process.stdout.readline())
            process.terminate()
            rest, _ = process.communicate(timeout=DEADLINE_S)
            assert (process.returncode, rest) == (0, "")
            address = f"http://127.0.0.1:{env['PORT']}"
            if options:
                assert line == {"url": address}
                continue
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("at"))
            assert line == {
                "level": "info",
                "logger": "intramedial.management.commands.serve",
                "message": f"Serving {address}",
                "url": address,
            }
