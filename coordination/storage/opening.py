"""The authority's database and rules, as the settings have them."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from coordination.core.model import Rules
from intramedial.databases import disk

from .engines.base import Engine
from .engines.mark import Marker
from .engines.postgres.engine import PostgresEngine
from .engines.sqlite.engine import SqliteEngine
from .engines.sqlite.files import prepare

logger = logging.getLogger(__name__)


def rules() -> Rules:
    """The constants of the authority; see `intramedial.settings_table.TABLE`."""
    return Rules(
        lease_ttl_ms=settings.LEASE_TTL_MS,
        stampede_base_ms=settings.STAMPEDE_BASE_MS,
        stampede_cap_ms=settings.STAMPEDE_CAP_MS,
        queue_limit=settings.QUEUE_LIMIT,
        offer_ms=settings.OFFER_MS,
        wait_ttl_ms=settings.WAIT_TTL_MS,
        trust_start=settings.TRUST_START,
        trust_release=settings.TRUST_RELEASE,
        trust_expiry=settings.TRUST_EXPIRY,
    )


def unused_days() -> int:
    """After how many days without use a resource is forgotten."""
    days: int = settings.RESOURCE_DAYS
    return days


def outbox_limit() -> int:
    """How many bytes may wait for the ledger: as the setting says, and no more than half of what is kept free
    for leases, where that is known."""
    limit: int = settings.OUTBOX_MB * disk.MB
    reserve = disk.reserve()
    return limit if reserve is None else min(limit, reserve // 2)


def embedded_file() -> Path | None:
    """The SQLite file of leases; None on PostgreSQL."""
    database: dict[str, Any] = settings.DATABASES["leases"]
    return Path(database["NAME"]) if database["ENGINE"].endswith("sqlite3") else None


def prepare_files(used: Callable[[], bool]) -> list[Path]:
    """See `engines.sqlite.files.prepare`; nothing is to be done on PostgreSQL."""
    path = embedded_file()
    return [] if path is None else prepare(path, used)


def open_engine(readonly: bool = False, marked: bool = False) -> Engine:
    """A connection to the authority's tables. `marked`: with a mark of what it commits; the caller has to
    `adopt` it. Raises StorageFault when another process is the writer of an SQLite file."""
    path = embedded_file()
    if path is not None:
        return SqliteEngine(path, readonly, marked)
    database: dict[str, Any] = settings.DATABASES["leases"]
    names = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER", "password": "PASSWORD"}
    given = {name: database.get(key) for name, key in names.items()}
    conninfo = {name: value for name, value in given.items() if value} | database["OPTIONS"]
    return PostgresEngine(conninfo, _marker() if marked else None)


def _marker() -> Marker | None:
    """A process without a place to write to works without a mark; what it gave is then known to the database
    alone."""
    try:
        return Marker(Path(settings.DATA_DIR), alone=False)
    except OSError as error:
        logger.warning("no mark can be kept in %s: %s", settings.DATA_DIR, error)
        return None
