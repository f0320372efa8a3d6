"""The authority's database and rules, as the settings have them."""

from typing import Any

from django.conf import settings

from intramedial import disk

from .core.model import Rules
from .engines import Engine
from .engines.postgres import PostgresEngine
from .engines.sqlite import SqliteEngine


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


def open_engine(readonly: bool = False) -> Engine:
    """A connection to the authority's tables. Raises StorageFault when another process is the writer."""
    database: dict[str, Any] = settings.DATABASES["leases"]
    if database["ENGINE"].endswith("sqlite3"):
        return SqliteEngine(database["NAME"], readonly)
    names = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER", "password": "PASSWORD"}
    given = {name: database.get(key) for name, key in names.items()}
    return PostgresEngine({name: value for name, value in given.items() if value} | database["OPTIONS"])
