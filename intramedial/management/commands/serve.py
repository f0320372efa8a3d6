"""`serve`: the server, uvicorn on `intramedial.asgi`."""

import contextlib
import json
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from uvicorn.supervisors import Multiprocess

from intramedial import databases

logger = logging.getLogger(__name__)

BACKLOG = 2048
GRACE_S = 10  # for answers under way when the server is told to stop


class Command(BaseCommand):
    """Serves until it is told to stop, and ends what is under way before it does."""

    help = "Serve the API, the live sockets and the pages."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="say where it serves as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check what can be checked before the start, bind, serve."""
        check_processes()
        check_files()
        check_migrated()
        listener = bind(settings.HOST, settings.PORT)
        address = f"http://{settings.HOST}:{settings.PORT}"

        def announce() -> None:
            said = json.dumps({"url": address}) if options["json"] else f"Serving {address}"
            self.stdout.write(said)
            self.stdout.flush()

        with contextlib.suppress(KeyboardInterrupt):
            run(listener, announce)


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it serves."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce."""
        await super().startup(sockets)
        self._announce()


def run(listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve on `listener` until told to stop."""
    config = uvicorn.Config(
        "intramedial.asgi:application",
        workers=settings.WEB_PROCESSES,
        loop="uvloop",
        http="intramedial.one_write:Protocol",
        ws="intramedial.sockets:SocketProtocol",
        ws_max_size=settings.SOCKET_FRAME,
        lifespan="on",
        log_config=None,  # ours
        access_log=False,
        server_header=False,
        # What a proxy says of an address is believed from trusted ones only, and judged elsewhere.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    if settings.WEB_PROCESSES > 1:
        announce()
        Multiprocess(config, sockets=[listener]).run()
    else:
        _Server(config, announce).run(sockets=[listener])


def check_processes() -> None:
    """CommandError when several processes are asked for without what they need to agree."""
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
    """CommandError when a database's files are not as they should be."""
    try:
        databases.check_files()
    except databases.Unusable as fault:
        raise CommandError(str(fault)) from None


def check_migrated() -> None:
    """CommandError when a database cannot be reached or lacks a migration. A ledger of its own that is away
    is only told of: no lease depends on it, at the start neither."""
    for alias in databases.distinct_aliases():
        connection = connections[alias]
        try:
            executor = MigrationExecutor(connection)
            plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        except DatabaseError as error:
            if alias == "ledger":
                logger.error("the ledger cannot be reached; leases are served without it: %s", error)
                continue
            raise CommandError(f"The database {alias!r} cannot be reached: {error}") from None
        finally:
            connection.close()
        if plan:
            raise CommandError(
                f"The database {alias!r} is not set up. Run `make run`, or `manage.py bootstrap`."
            )


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; CommandError with words when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Listening from now on: of two servers started at once, the second one fails here, with words.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise CommandError(f"Cannot listen on {host}:{port} ({reason}). Choose another with PORT=…") from None
    listener.setblocking(False)
    listener.set_inheritable(True)
    return listener
