"""Starts servers and commands as forks of a process that has already loaded the libraries.

`manage.py` loads libraries for more than half of its start, and the tests start some hundreds of servers and
commands. A fork has the libraries. It loads the product's modules and settings by itself, in its own
environment, as `python manage.py …` does. Tests of the start itself do not use the launcher.

The launcher is one process beside pytest. It has one thread, and listens on a Unix socket in its own
directory. When pytest ends, the launcher ends, with all processes that it has started. Each connection is one
process. The request is a JSON line, with the descriptors for stdout and stderr. The answers are the process
id and, when the process has ended, its exit code.
"""

import array
import contextlib
import gc
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    *("asyncio", "concurrent.futures.thread", "http.client", "logging.config", "sqlite3", "ssl", "uuid"),
    *("channels", "cryptography.hazmat.primitives.serialization", "cryptography.x509", "django.db.models"),
    *("django.core.handlers.asgi", "django.core.management.base", "django.forms", "django.http"),
    *("django.test.signals", "django.utils.translation.trans_real", "django.views.decorators.csrf"),
    *("http_message_signatures", "http_sf", "httptools", "mcp.server", "mcp.server.lowlevel", "mcp.types"),
    *("mcp.server.streamable_http_manager", "nacl.signing", "opentelemetry.trace", "orjson", "psycopg"),
    *("psycopg.types.json", "pydantic", "sqlparse", "starlette.applications", "uvicorn", "uvloop"),
    *("uvicorn.lifespan.on", "uvicorn.protocols.http.httptools_impl", "uvicorn.loops.uvloop"),
    *("uvicorn.protocols.websockets.websockets_sansio_impl", "websockets.server"),
)
"""Modules that a server loads and that need no settings. A missing name only costs time."""


class Started:
    """A started process, with the part of `subprocess.Popen` that the tests need."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._heard = b""
        self._lock = threading.Lock()
        self.returncode: int | None = None
        self.pid = int(self._line(None) or b"0")
        if not self.pid:
            raise OSError("the launcher has ended")

    def _line(self, within_s: float | None) -> bytes | None:
        """The next line, or None if it does not come in time."""
        deadline = None if within_s is None else time.monotonic() + within_s
        while b"\n" not in self._heard:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._connection], [], [], left)[0]:
                return None
            data = self._connection.recv(4096)
            if not data:
                raise OSError("the launcher has ended")
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        return line

    def poll(self) -> int | None:
        """The exit code, or the negative number of the signal that ended the process; None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended; returns its exit code. Raises subprocess.TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def _ended(self, within_s: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and (line := self._line(within_s)) is not None:
                self.returncode = int(line)
                self._connection.close()
            return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Launcher:
    """The launcher from the side of pytest. Its process begins with the first start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._directory = ""

    def start(
        self, arguments: Sequence[str], env: Mapping[str, str], out: int, errors: int, descriptors: int = 0
    ) -> Started:
        """Run a Python program with these arguments, the first of which is its path. `out` and `errors` are
        descriptors. `descriptors` is how many files it may have open; 0 keeps the limit of this process."""
        request = {"arguments": list(arguments), "env": dict(env), "descriptors": descriptors}
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address())
        body = json.dumps(request).encode()
        connection.sendall(len(body).to_bytes(4, "big"))
        socket.send_fds(connection, [b"."], [out, errors])
        connection.sendall(body)
        return Started(connection)

    def run(
        self, arguments: Sequence[str], env: Mapping[str, str], timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end; returns its exit code and what it wrote."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            started = self.start(arguments, env, out.fileno(), errors.fileno())
            try:
                code = started.wait(timeout)
            except subprocess.TimeoutExpired:
                started.kill()
                raise
            out.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read().decode(), errors.read().decode())

    def _address(self) -> str:
        with self._lock:
            if self._process is None:
                self._directory = tempfile.mkdtemp(prefix="intramedial-launcher-")
                command = [sys.executable, "-m", "tests.launcher", f"{self._directory}/socket"]
                self._process = subprocess.Popen(
                    command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
                assert self._process.stdout is not None
                assert self._process.stdout.readline() == b"ready\n", "the launcher did not start"
            return f"{self._directory}/socket"

    def stop(self) -> None:
        """End the launcher and all processes that it has started."""
        with self._lock:
            if self._process is not None:
                self._process.communicate()  # the launcher ends when its input ends
                self._process = None


# --- in the launcher's own process -----------------------------------------------------------------


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive a request and its descriptors."""
    size = int.from_bytes(_exactly(connection, 4), "big")
    _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(2 * array.array("i").itemsize))
    found = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    request: dict[str, Any] = json.loads(_exactly(connection, size))
    return request, list(found)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def launch(address: str) -> dict[str, Any]:
    """Start the requested programs until stdin ends. In each started process it returns the request."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    os.write(1, b"ready\n")
    poll = select.poll()
    for descriptor in (0, listener.fileno()):
        poll.register(descriptor, select.POLLIN)
    running: dict[int, tuple[int, socket.socket]] = {}  # pidfd or connection: pid, connection
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == 0:
                for pid in {pid for pid, _ in running.values()}:
                    os.kill(pid, signal.SIGKILL)
                os.unlink(address)
                os.rmdir(os.path.dirname(address))
                os._exit(0)
            if descriptor == listener.fileno():
                connection, _ = listener.accept()
                try:
                    request, descriptors = receive(connection)
                except (EOFError, OSError):
                    connection.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    become(request, descriptors)
                    return request
                for given in descriptors:
                    os.close(given)
                ends = os.pidfd_open(pid)
                for watched in (ends, connection.fileno()):
                    running[watched] = pid, connection
                    poll.register(watched, select.POLLIN)
                connection.sendall(b"%d\n" % pid)
            elif descriptor in running:
                pid, connection = running[descriptor]
                if descriptor == connection.fileno():
                    os.kill(pid, signal.SIGKILL)  # the process that requested it has ended
                    poll.unregister(descriptor)
                    continue
                _, status = os.waitpid(pid, 0)
                with contextlib.suppress(OSError):
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                for watched in (descriptor, connection.fileno()):
                    running.pop(watched)
                    with contextlib.suppress(KeyError):
                        poll.unregister(watched)
                os.close(descriptor)
                connection.close()


def become(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Turn a fork into the requested process: set its files, environment, limits and arguments."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for at, given in enumerate((nothing, *descriptors)):
        os.dup2(given, at)
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if request["descriptors"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (request["descriptors"], request["descriptors"]))
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.argv = request["arguments"]


if __name__ == "__main__":
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            __import__(name)
    gc.collect()
    gc.freeze()
    asked = launch(sys.argv[1])
    runpy.run_path(asked["arguments"][0], run_name="__main__")
