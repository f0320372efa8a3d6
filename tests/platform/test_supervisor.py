"""The supervisor of several server processes, with small workers that the test controls.

A worker answers each connection with its process id. Files in its directory change its start: `fail` ends it
with exit code 3, and `hang` makes it hang for ever.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server import ROOT

DEADLINE_S = 30.0
DRIVER = """
import json, logging, socket, sys
from intramedial.process import supervisor
directory, constants = sys.argv[1], json.loads(sys.argv[2])
for name, value in constants.items():
    setattr(supervisor, name, value)
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
command = [sys.executable, "-c", open(directory + "/worker.py").read(), directory]
def announce():
    print(json.dumps({"port": port}), flush=True)
sys.exit(supervisor.Supervisor(command, 2, listener, announce).run())
"""
WORKER = """
import os, pathlib, signal, socket, sys, time
from intramedial.process.supervisor import Line
directory, line = pathlib.Path(sys.argv[1]), Line(sys.argv[2].removeprefix("--worker="))
line.follow()
(directory / f"pid-{os.getpid()}").touch()
if (directory / "fail").exists():
    sys.exit(3)
if (directory / "hang").exists():
    time.sleep(3600)
stopping = False
def stop(*_):
    global stopping
    stopping = True
signal.signal(signal.SIGTERM, stop)
listener = socket.socket(fileno=line.listener)
listener.settimeout(0.1)
line.ready()
while not stopping:
    line.beat()
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        continue
    connection.sendall(str(os.getpid()).encode())
    connection.close()
"""


class Supervised:
    """A supervisor in its own process, with two workers."""

    def __init__(self, directory: Path, **constants: float) -> None:
        self.directory = directory
        (directory / "worker.py").write_text(WORKER)
        self.log_file = directory / "log"
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(directory), json.dumps(constants)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.port = 0

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def started(self) -> "Supervised":
        assert self.process.stdout is not None
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.until(lambda: self.log.count(" serves") == 2)
        return self

    def until(self, true: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not true():
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)

    def answer(self) -> int:
        """The process id of the worker that answers a connection."""
        with socket.create_connection(("127.0.0.1", self.port), DEADLINE_S) as connection:
            return int(connection.recv(100))

    def workers(self) -> set[int]:
        """The process ids of the workers that are alive."""
        pids = {int(file.name[4:]) for file in self.directory.glob("pid-*")}
        return {pid for pid in pids if alive(pid)}

    def remove(self) -> None:
        workers = self.workers()
        self.process.kill()
        self.process.communicate()
        for pid in workers & self.workers():
            os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    made: list[Supervised] = []

    def make(**constants: float) -> Supervised:
        made.append(Supervised(tmp_path, **constants))
        return made[-1]

    yield make
    for one in made:
        one.remove()


Make = Callable[..., Supervised]


def test_a_worker_that_is_killed_is_replaced(supervised: Make) -> None:
    server = supervised(PAUSE_FIRST_S=0.1).started()
    first = server.workers()
    killed = min(first)
    os.kill(killed, signal.SIGKILL)
    server.until(lambda: len(server.workers() - {killed}) == 2)
    server.until(lambda: server.answer() not in first)
    assert "was ended by SIGKILL" in server.log


def test_the_others_serve_while_a_worker_cannot_start(supervised: Make) -> None:
    server = supervised(PAUSE_FIRST_S=0.05, PAUSE_MOST_S=0.4).started()
    (server.directory / "fail").touch()
    killed, kept = sorted(server.workers())
    os.kill(killed, signal.SIGKILL)
    server.until(
        lambda: server.log.count("ended with exit code 3") >= 6
    )  # more than the number after which it gives up
    assert server.answer() == kept
    pauses = [
        float(line.split(" started in ")[1].split()[0]) for line in server.log.splitlines() if " in " in line
    ]
    assert max(pauses) <= 0.4
    assert max(pauses[-3:]) > min(pauses[:2])
    (server.directory / "fail").unlink()
    server.until(lambda: server.log.count(" serves") == 3)
    server.until(lambda: server.answer() != kept)


def test_a_worker_that_hangs_at_its_start_is_noticed(supervised: Make) -> None:
    server = supervised(PAUSE_FIRST_S=0.05, START_WITHIN_S=1.0).started()
    (server.directory / "hang").touch()
    killed, kept = sorted(server.workers())
    os.kill(killed, signal.SIGKILL)
    server.until(lambda: "was killed: it was not ready after 1 s" in server.log)
    assert server.answer() == kept
    (server.directory / "hang").unlink()
    server.until(lambda: server.log.count(" serves") == 3)


def test_a_worker_without_a_heartbeat_is_replaced(supervised: Make) -> None:
    server = supervised(PAUSE_FIRST_S=0.05, SILENT_S=1.0).started()
    frozen = min(server.workers())
    os.kill(frozen, signal.SIGSTOP)
    server.until(lambda: "was killed: it gave no sign of life for 1 s" in server.log)
    server.until(lambda: server.log.count(" serves") == 3)
    assert not alive(frozen)


def test_a_supervisor_that_was_stopped_ends_no_worker(supervised: Make) -> None:
    server = supervised(SILENT_S=2.0).started()
    before = server.workers()
    os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(2.5)
    os.kill(server.process.pid, signal.SIGCONT)
    time.sleep(1)  # the supervisor has checked its workers several times
    assert server.workers() == before
    assert "sign of life" not in server.log


def test_when_no_worker_can_start_the_supervisor_ends_with_a_fault(supervised: Make, tmp_path: Path) -> None:
    (tmp_path / "fail").touch()
    server = supervised(PAUSE_FIRST_S=0.05)
    assert server.process.wait(DEADLINE_S) == 1
    assert "CRITICAL no server process can be started" in server.log
    assert server.log.count("ended with exit code 3") == 2 * 3
    assert server.process.stdout is not None
    assert server.process.stdout.read() == ""  # it never announced that it serves


def test_when_all_workers_have_ended_and_none_can_start_it_ends_with_a_fault(supervised: Make) -> None:
    server = supervised(PAUSE_FIRST_S=0.05).started()
    (server.directory / "fail").touch()
    for pid in server.workers():
        os.kill(pid, signal.SIGKILL)
    assert server.process.wait(DEADLINE_S) == 1


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_ends_all_workers_and_is_no_fault(supervised: Make, signum: signal.Signals) -> None:
    server = supervised().started()
    server.process.send_signal(signum)
    assert server.process.wait(DEADLINE_S) == 0
    assert server.workers() == set()
    with pytest.raises(ConnectionRefusedError):
        server.answer()


def test_a_stop_during_the_start_is_no_fault(supervised: Make, tmp_path: Path) -> None:
    (tmp_path / "hang").touch()
    server = supervised(STOP_S=1.0)
    server.until(lambda: len(server.workers()) == 2)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(DEADLINE_S) == 0
    assert server.workers() == set()


def test_workers_end_with_their_supervisor(supervised: Make) -> None:
    server = supervised().started()
    workers = server.workers()
    server.process.kill()
    server.process.wait(DEADLINE_S)
    server.until(lambda: not any(alive(pid) for pid in workers))
    with pytest.raises(ConnectionRefusedError):
        server.answer()


def test_a_worker_that_hangs_ends_with_its_supervisor(supervised: Make) -> None:
    server = supervised(STOP_S=0.5).started()
    frozen = min(server.workers())
    os.kill(frozen, signal.SIGSTOP)
    server.process.kill()
    server.process.wait(DEADLINE_S)
    os.kill(frozen, signal.SIGCONT)
    server.until(lambda: not alive(frozen))
