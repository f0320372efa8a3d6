"""Private PostgreSQL, PgBouncer and Redis servers, started from the installed programs and stopped again."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

START_S = 60
UNPRIVILEGED = ("postgres", "nobody")


class ServiceError(RuntimeError):
    """A server that the tests need is not installed or does not start; the message says what to do."""


def free_port() -> int:
    """A free TCP port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def postgres_program(name: str) -> Path:
    """A program of PostgreSQL's server, from PATH or from Debian's directories, the newest version first."""
    if found := shutil.which(name):
        return Path(found)
    versions = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    for program in sorted(versions, key=lambda path: int(path.parts[-3].split(".")[0]), reverse=True):
        return program
    raise ServiceError(f"PostgreSQL's `{name}` is not installed: apt-get install postgresql")


def unprivileged() -> list[str]:
    """The prefix of a command that makes it run as another user than root: PostgreSQL refuses to run as
    root."""
    if os.geteuid() != 0:
        return []
    user = _unprivileged_user()
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _unprivileged_user() -> pwd.struct_passwd:
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServiceError(f"PostgreSQL does not run as root and there is no user {' or '.join(UNPRIVILEGED)}")


class Postgres:
    """A private cluster in a temporary directory, on a random port of 127.0.0.1 and a Unix socket.

    `durable=False` turns fsync off, which is right for all tests except those of durability.
    """

    def __init__(self, durable: bool = False) -> None:
        self.durable = durable
        self.port = free_port()
        # Not under TMPDIR: the unprivileged user must be able to reach it.
        self.directory = Path(tempfile.mkdtemp(prefix="intramedial-pg-", dir="/tmp"))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Postgres":
        """Make the cluster if needed, start it and wait until it answers."""
        if os.geteuid() == 0:
            user = _unprivileged_user()
            os.chown(self.directory, user.pw_uid, user.pw_gid)
        data = self.directory / "data"
        if not data.exists():
            initdb = ["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=postgres"]
            made = subprocess.run(
                [*unprivileged(), postgres_program("initdb"), "-D", data, *initdb],
                cwd="/",
                capture_output=True,
                text=True,
            )
            if made.returncode:
                raise ServiceError(f"initdb failed: {made.stderr.strip()}")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.directory,
            "max_connections": 200,
            "fsync": "on" if self.durable else "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*unprivileged(), postgres_program("postgres"), "-D", data, *options],
                cwd="/",
                stdout=log,
                stderr=log,
            )
        self._wait()
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            assert self.process is not None
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    log = (self.directory / "log").read_text()[-2000:]
                    raise ServiceError(f"PostgreSQL does not start: {error}\n{log}") from None
                time.sleep(0.05)

    def url(self, database: str) -> str:
        """The address of one database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str = "template1") -> str:
        """A new database, empty or a copy of another that has no connections; returns its name."""
        name = f"test_{uuid4().hex[:12]}"
        names = (sql.Identifier(name), sql.Identifier(template))
        self._administer(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database, even with connections."""
        self._administer(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _administer(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends sessions and writes a checkpoint, SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(START_S)
            self.process = None

    def remove(self) -> None:
        """Stop the server and delete the cluster."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def pgbouncer_version(program: str) -> tuple[int, int]:
    """The version of an installed PgBouncer, as (1, 21)."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor, *_ = output.split()[1].split(".")
    return int(major), int("".join(digit for digit in minor if digit.isdigit()))


class PgBouncer:
    """A private PgBouncer in transaction mode before a cluster, on a random port of 127.0.0.1.

    `options` are added to the settings of its configuration file or replace them.
    """

    def __init__(self, cluster: Postgres, **options: object) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="intramedial-pgbouncer-", dir="/tmp"))
        self.options: dict[str, object] = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": 2,
            "max_client_conn": 200,
            "query_wait_timeout": 10,
            "logfile": self.directory / "log",
            "admin_users": "admin",
            **options,
        }
        self._target = f"* = host=127.0.0.1 port={cluster.port} user=postgres"
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """The address of one of the cluster's databases, through the pool."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> "PgBouncer":
        """Start the pool and wait until it answers."""
        program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
        if program is None:
            raise ServiceError("`pgbouncer` is not installed: apt-get install pgbouncer")
        if pgbouncer_version(program) < (1, 21):
            # this version has no such setting, and behaves as with 0
            self.options.pop("max_prepared_statements", None)
        settings = "".join(f"{name} = {value}\n" for name, value in self.options.items())
        file = self.directory / "pgbouncer.ini"
        file.write_text(f"[databases]\n{self._target}\n[pgbouncer]\n{settings}")
        if os.geteuid() == 0:
            user = _unprivileged_user()
            for path in (self.directory, file):
                os.chown(path, user.pw_uid, user.pw_gid)
        self.process = subprocess.Popen(
            [*unprivileged(), program, "--quiet", file],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    log = self.directory / "log"
                    output = log.read_text()[-2000:] if log.exists() else ""
                    raise ServiceError(f"pgbouncer does not start: {error}\n{output}") from None
                time.sleep(0.02)

    def remove(self) -> None:
        """Stop the pool and delete its directory."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(START_S)
            self.process = None
        shutil.rmtree(self.directory, ignore_errors=True)


class Redis:
    """A private Redis on a random port of 127.0.0.1 without persistence."""

    def __init__(self) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="intramedial-redis-"))
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> "Redis":
        """Start the server and wait until it answers."""
        program = shutil.which("redis-server")
        if program is None:
            raise ServiceError("`redis-server` is not installed: apt-get install redis-server")
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            [program, *options, "--dir", self.directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise ServiceError(f"redis-server does not start: {error}") from None
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server; `start` starts it again on the same port, empty."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(START_S)
            self.process = None

    def remove(self) -> None:
        """Stop the server and delete its directory."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
