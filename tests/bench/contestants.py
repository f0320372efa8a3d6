"""The compared servers, each started alone on its core, and what each needs to be asked."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from tests.server import ROOT, ServerProcess
from tests.services import ServiceError, free_port

from . import fill, machine
from .lab import Copy, Lab, Site, Tenant
from .machine import pinned

START_S = 30
SETTLE_S = 60
LIVE = 100_000


class Missing(Exception):
    """This cannot be measured here; the message says why."""


class Contestant:
    """A server under test. `start` raises Missing or ServiceError when it is not available."""

    label = ""
    short = ""  # the label where there is little room
    ours = False
    servers = 1  # processes, each with its own core where there are enough

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.port = 0
        self.cores = machine.cores(self.servers)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def tenants(self) -> list[Tenant]:
        """Our workspaces to work in; empty for other products."""
        return []

    @property
    def pids(self) -> list[int]:
        """The processes of the server."""
        assert self.process is not None
        return machine.process_and_children(self.process.pid)

    def start(self) -> None:
        """Start the server in its initial state, and wait until it answers."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop the server and delete what it has stored."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(START_S)
            self.process = None

    def settle(self) -> dict[str, float]:
        """Wait until the server has finished deferred work, so that the next run begins at rest; returns
        what it waited for."""
        return {}

    def _spawn(self, command: list[str], env: Mapping[str, str] | None = None) -> None:
        with pinned(self.cores.server):
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise ServiceError(f"{self.label} does not start") from None
                time.sleep(0.02)


class Ours(Contestant):
    """`manage.py serve` over a copy of a prepared site."""

    ours = True
    env: Mapping[str, str] = {}

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.copy: Copy | None = None
        self.server: ServerProcess | None = None

    def site(self) -> Site:
        """The site that the server starts from."""
        return self.lab.embedded_site

    @property
    def tenants(self) -> list[Tenant]:
        assert self.copy is not None
        return self.copy.tenants

    @property
    def pids(self) -> list[int]:
        """The processes that serve: the only one, or the children of the supervisor."""
        assert self.server is not None and self.server.process is not None
        found = machine.process_and_children(self.server.process.pid)
        return found if self.servers == 1 else found[-self.servers :]

    def fill(self, copy: Copy) -> None:
        """Write the rows that must exist before the server starts."""

    def start(self) -> None:
        self.copy = Copy(self.lab, self.site())
        self.fill(self.copy)
        self.server = self.copy.server(self.cores.server, self.env)
        self.port = self.server.port

    def settle(self) -> dict[str, float]:
        assert self.copy is not None
        left = self.copy.leases_waiting_for_ledger()
        begun = time.monotonic()
        while self.copy.leases_waiting_for_ledger():
            if time.monotonic() - begun > SETTLE_S:
                raise Missing(f"the ledger had not caught up with {left} receipts in {SETTLE_S} s")
            time.sleep(0.1)
        return {"ledger_behind": left, "ledger_catches_up_s": time.monotonic() - begun}

    def stop(self) -> None:
        if self.server is not None and self.server.process is not None:
            self.server.terminate()
            self.server = None
        if self.copy is not None:
            self.copy.remove()
            self.copy = None


class Embedded(Ours):
    label = "Intramedial, embedded (SQLite)"
    short = "embedded"


class Filled(Embedded):
    label = f"Intramedial, embedded (SQLite), {LIVE // 1000} 000 live leases"
    short = "embedded, filled"
    env = fill.SERVER

    def fill(self, copy: Copy) -> None:
        with fill.store_of(copy) as store:
            fill.leases(store, 0, LIVE)


class OnPostgres(Ours):
    label = "Intramedial, PostgreSQL"
    short = "PostgreSQL"

    def site(self) -> Site:
        return self.lab.postgres_site


class TwoOnPostgres(OnPostgres):
    label = "Intramedial, PostgreSQL, 2 processes"
    short = "PostgreSQL, 2 processes"
    servers = 2

    def start(self) -> None:
        self.env = {"WEB_PROCESSES": "2", "REDIS_URL": self.lab.redis.url}
        super().start()
        time.sleep(1)  # one of the two has answered; the other is about to


class Before(Ours):
    """Django's ordinary handler around the same operations; see `before`."""

    label = "The same operations behind Django's ordinary handler"
    short = "Django's own handler"
    ours = False

    def start(self) -> None:
        self.copy = Copy(self.lab, self.site())
        self.port = free_port()
        env = {
            "DJANGO_SETTINGS_MODULE": "intramedial.settings",
            "INTRAMEDIAL_DATA_DIR": str(self.copy.data_dir),
            "PORT": str(self.port),
        }
        self._spawn(uvicorn("tests.bench.before:application", self.port), env)

    def stop(self) -> None:
        Contestant.stop(self)
        super().stop()


class Echo(Contestant):
    label = "Bare ASGI echo (uvicorn, uvloop, httptools)"
    short = "bare ASGI echo"

    def start(self) -> None:
        self.port = free_port()
        self._spawn(uvicorn("tests.bench.echo:application", self.port))


class Etcd(Contestant):
    label = "etcd, lock cycle over its HTTP gateway"
    short = "etcd"

    def start(self) -> None:
        program = shutil.which("etcd")
        if program is None:
            raise Missing("etcd is not installed: apt-get install etcd-server")
        self.port = free_port()
        here, peers = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{free_port()}"
        options: dict[str, Any] = {
            "data-dir": self.lab.place("etcd"),
            "listen-client-urls": here,
            "advertise-client-urls": here,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
            "log-level": "error",
            "logger": "zap",
        }
        self._spawn([program, *(f"--{name}={value}" for name, value in options.items())])
        time.sleep(1)  # it listens a moment before it has elected itself


class Redis(Contestant):
    label = "Redis, appendfsync always (SET NX PX, Lua)"
    short = "Redis"

    def start(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise Missing("redis-server is not installed: apt-get install redis-server")
        self.port = free_port()
        directory = self.lab.place("redis")
        directory.mkdir()
        durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        here = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(directory)]
        self._spawn([program, *here, *durable])


def uvicorn(application: str, port: int) -> list[str]:
    """The command for uvicorn with the settings that `serve` uses."""
    fast = ["--loop", "uvloop", "--http", "httptools", "--lifespan", "off"]
    quiet = ["--no-access-log", "--log-level", "error", "--no-server-header", "--no-proxy-headers"]
    return [sys.executable, "-m", "uvicorn", application, "--port", str(port), *fast, *quiet]
