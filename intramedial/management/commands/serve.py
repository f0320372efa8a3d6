"""`serve`: the server, uvicorn on `intramedial.asgi`."""

import json
import logging
import signal
import socket
import sys
from argparse import SUPPRESS
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from intramedial import databases
from intramedial.databases import usable
from intramedial.http import logs
from intramedial.process import private_files
from intramedial.process.supervisor import Line, Supervisor
from intramedial.server.listener import raise_descriptor_limit

logger = logging.getLogger(__name__)

BACKLOG = 2048
SWITCH_S = 0.001
"""How long a thread that makes a page may keep the interpreter from the event loop. Python's default is 5
ms."""

GRACE_S = 10  # for answers under way when the server stops


class Command(BaseCommand):
    """Serves until a signal stops it. Requests under way are answered first.

    The exit code is 0 after SIGTERM or SIGINT, and another one after a failure.
    """

    help = "Serve the API, the live sockets and the pages."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`, and `--worker` for the supervisor's own use."""
        parser.add_argument("--json", action="store_true", help="say where it serves as one JSON object")
        parser.add_argument("--worker", default="", help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        """Check what can be checked before the start, bind, serve."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        with private_files.created_private():
            if options["worker"]:
                run_worker(Line(options["worker"]))
            else:
                self._serve(options["json"])

    def _serve(self, as_json: bool) -> None:
        check_processes()
        private_files.tighten(settings.DATA_DIR)
        check_files()
        check_migrated()
        raise_descriptor_limit()
        listener = bind(settings.HOST, settings.PORT)

        def announce() -> None:
            self.stdout.write(announcement(as_json))
            self.stdout.flush()

        if settings.WEB_PROCESSES > 1:
            command = [sys.executable, str(Path(settings.BASE_DIR, "manage.py")), "serve"]
            sys.exit(Supervisor(command, settings.WEB_PROCESSES, listener, announce).run())
        run(listener, announce)


def _end(signum: int, frame: FrameType | None) -> None:
    """End on a signal that comes before anything has started."""
    sys.exit(0)


def announcement(as_json: bool) -> str:
    """The address on which it serves, as one JSON object or as a line of the log."""
    address = f"http://{settings.HOST}:{settings.PORT}"
    if as_json:
        return json.dumps({"url": address})
    record = logger.makeRecord(
        logger.name, logging.INFO, "", 0, f"Serving {address}", (), None, extra={"url": address}
    )
    return logs.JsonFormatter().format(record)


class _Server(uvicorn.Server):
    """uvicorn's server. It reports when it serves, and about once a second that its event loop runs."""

    def __init__(
        self, config: uvicorn.Config, announce: Callable[[], None], beat: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._announce = announce
        self._beat = beat

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce it."""
        await super().startup(sockets)
        self._announce()

    async def on_tick(self, counter: int) -> bool:
        """See uvicorn, which calls it ten times a second. Counted, since a clock may be set back."""
        if counter % 10 == 0:
            self._beat()
        return await super().on_tick(counter)


def run(listener: socket.socket, announce: Callable[[], None], line: Line | None = None) -> None:
    """Serve on `listener` until a signal stops it. `line` is the one to the supervisor, in one of several
    processes.

    Raises SystemExit with uvicorn's code (3) if the application cannot start.
    """
    config = uvicorn.Config(
        "intramedial.asgi:application",
        loop="uvloop",
        http="intramedial.server.protocol:connection",
        ws="intramedial.server.websocket:SocketProtocol",
        ws_max_size=settings.SOCKET_FRAME,
        lifespan="on",
        log_config=None,  # it is in the settings
        access_log=False,
        server_header=False,
        # `X-Forwarded-For` counts only from trusted proxies; see `http.addresses`.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    sys.setswitchinterval(SWITCH_S)
    server = _Server(config, announce, line.beat if line else lambda: None)
    for number in (signal.SIGTERM, signal.SIGINT):
        # For the moment until uvicorn sets its own handlers. At its end it restores these and raises the
        # signals again, which then change nothing: a requested stop is no failure.
        signal.signal(number, server.handle_exit)
    server.run(sockets=[listener])
    if not server.should_exit:
        raise CommandError("The server ended though nothing told it to.")


def run_worker(line: Line) -> None:
    """Serve as one of several processes on the supervisor's socket, until a signal or the supervisor's
    end."""
    line.follow()
    listener = socket.socket(fileno=line.listener)
    listener.setblocking(False)
    run(listener, line.ready, line)


def check_processes() -> None:
    """Raise CommandError if several processes are wanted without the databases and Redis that they need."""
    if settings.WEB_PROCESSES == 1:
        return
    missing = []
    if any(settings.DATABASES[alias]["ENGINE"].endswith("sqlite3") for alias in databases.NAME_OF_ALIAS):
        missing.append("every database on PostgreSQL (DATABASE_URL=postgres://…)")
    if not settings.REDIS_URL:
        missing.append("Redis (REDIS_URL=redis://…)")
    if missing:
        raise CommandError(f"WEB_PROCESSES={settings.WEB_PROCESSES} needs {' and '.join(missing)}.")


def check_files() -> None:
    """Raise CommandError if a database's files are not in order."""
    try:
        usable.check_files()
    except usable.Unusable as fault:
        raise CommandError(str(fault)) from None


def check_migrated() -> None:
    """Raise CommandError if a database cannot be used. A ledger of its own that does not answer is only
    logged, since no lease depends on it."""
    for alias in databases.distinct_aliases():
        try:
            usable.check(alias)
        except usable.NotReachable as fault:
            if alias != "ledger":
                raise CommandError(str(fault)) from None
            logger.error("the ledger cannot be reached; leases are served without it: %s", fault)
        except usable.Unusable as fault:
            raise CommandError(str(fault)) from None


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CommandError if the address cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # It listens from here on. Of two servers that start at once, the second one fails here, with words.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise CommandError(f"Cannot listen on {host}:{port} ({reason}). Choose another with PORT=…") from None
    listener.setblocking(False)
    listener.set_inheritable(True)
    return listener
