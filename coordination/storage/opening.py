"""The authority's database and rules, as the settings have them, and the connection for reads."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings

from coordination.core.model import Rules
from intramedial.databases import disk

from .clock import Clock
from .engines.base import Engine
from .engines.mark import Marker
from .engines.postgres.engine import PostgresEngine
from .engines.sqlite.engine import SqliteEngine
from .engines.sqlite.files import prepare
from .store import StorageFault, Store, Transaction

T = TypeVar("T")

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
    """How many bytes may wait for the ledger: the setting, but at most half of the disk space that is
    reserved for leases, where that is known."""
    limit: int = settings.OUTBOX_MB * disk.MB
    reserve = disk.reserve()
    return limit if reserve is None else min(limit, reserve // 2)


def embedded_file() -> Path | None:
    """The SQLite file of leases; None on PostgreSQL."""
    database: dict[str, Any] = settings.DATABASES["leases"]
    return Path(database["NAME"]) if database["ENGINE"].endswith("sqlite3") else None


def prepare_files(used: Callable[[], bool]) -> list[Path]:
    """See `engines.sqlite.files.prepare`; does nothing on PostgreSQL."""
    path = embedded_file()
    return [] if path is None else prepare(path, used)


def open_engine(readonly: bool = False, marked: bool = False) -> Engine:
    """A connection to the authority's tables. `marked`: it keeps a mark of what it commits, which the caller
    has to `adopt`. Raises StorageFault when another process is the writer of an SQLite file."""
    path = embedded_file()
    if path is not None:
        return SqliteEngine(path, readonly, marked)
    database: dict[str, Any] = settings.DATABASES["leases"]
    names = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER", "password": "PASSWORD"}
    given = {name: database.get(key) for name, key in names.items()}
    conninfo = {name: value for name, value in given.items() if value} | database["OPTIONS"]
    return PostgresEngine(conninfo, _marker() if marked else None)


def _marker() -> Marker | None:
    """None when the data directory cannot be written: then only the database knows which tokens this process
    gave."""
    try:
        return Marker(Path(settings.DATA_DIR), alone=False)
    except OSError as error:
        logger.warning("no mark can be kept in %s: %s", settings.DATA_DIR, error)
        return None


class Reader:
    """Reads the authority's tables from a thread and over a connection of its own, so that no read delays a
    decision.

    The thread and the connection are made by the first read.
    """

    def __init__(self, clock: Callable[[], Clock | None]) -> None:
        """`clock` returns the authority's clock; see `Process.clock`."""
        self._clock = clock
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reads")
        self._store: Store | None = None

    async def read(self, job: Callable[[Transaction], T]) -> T:
        """Run `job` in a read-only transaction; what the worlds become in it is not stored. Raises
        StorageFault."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._read, job)

    def close(self) -> None:
        """Close the connection; the next read opens another."""
        self._executor.submit(self._close).result()

    def _read(self, job: Callable[[Transaction], T]) -> T:
        """An old connection may have been lost: then a new one is tried."""
        opened_before = self._store is not None
        try:
            return self._read_once(job)
        except StorageFault:
            if not opened_before:
                raise
            return self._read_once(job)

    def _read_once(self, job: Callable[[Transaction], T]) -> T:
        try:
            if self._store is None:
                self._store = Store(open_engine(readonly=True), rules())
            with self._store.reading(self._clock()) as transaction:
                return job(transaction)
        except StorageFault:
            self._close()
            raise

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.engine.close()
