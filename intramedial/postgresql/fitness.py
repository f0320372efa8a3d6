"""Whether a PostgreSQL database can be used as it is set up. If not: why, and what to do."""

from collections.abc import Callable, Mapping
from typing import Any

Accepts = Callable[[str], bool]


def _is(value: str) -> Accepts:
    return lambda found: found == value


def _none_or_at_least(ms: int) -> Accepts:
    return lambda found: found == "0" or int(found) >= ms


# Settings that no option of a session changes, or that this service must not change, with what they must be.
_SERVER: Mapping[str, tuple[Accepts, str]] = {
    "server_encoding": (_is("UTF8"), "The database must be created with ENCODING 'UTF8'."),
    "default_transaction_read_only": (
        _is("off"),
        "The database or the role is set to read only (default_transaction_read_only = on). Undo that with"
        " ALTER DATABASE or ALTER ROLE … RESET default_transaction_read_only.",
    ),
    "session_replication_role": (
        _is("origin"),
        "session_replication_role is not `origin`, so PostgreSQL checks no foreign keys. Undo that with"
        " ALTER DATABASE or ALTER ROLE … RESET session_replication_role.",
    ),
}
# Settings that Django's sessions cannot have behind a pooler: the value for ALTER ROLE, and what is as good.
_POOLED: Mapping[str, tuple[str, Accepts]] = {
    "default_transaction_isolation": ("read committed", _is("read committed")),
    "default_transaction_deferrable": ("off", _is("off")),
    "synchronous_commit": ("on", lambda found: found in ("on", "remote_write", "remote_apply")),
    "transform_null_equals": ("off", _is("off")),
    "array_nulls": ("on", _is("on")),
    "exit_on_error": ("off", _is("off")),
    "statement_timeout": ("0", _none_or_at_least(5_000)),
    "lock_timeout": ("0", _none_or_at_least(1_000)),
    "idle_in_transaction_session_timeout": ("20000", _none_or_at_least(5_000)),
    "idle_session_timeout": ("0", _none_or_at_least(60_000)),
    "transaction_timeout": ("0", _none_or_at_least(5_000)),
}


def faults(connection: Any) -> list[str]:
    """Why this database cannot be used, in sentences; [] if it can. `connection` is Django's, of any kind of
    database. Raises django.db.Error if the database does not answer."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [[*_SERVER, *_POOLED]])
        found = dict(cursor.fetchall())
        cursor.execute(
            "SELECT current_schema(), current_setting('search_path'), pg_is_in_recovery(),"
            " quote_ident(current_user)"
        )
        schema, path, standby, role = cursor.fetchone()
    reasons = [words for name, (accepts, words) in _SERVER.items() if not accepts(found.get(name, ""))]
    if standby:
        reasons.append("The server is a standby, which takes no writes. Use the address of the primary.")
    if schema is None or schema.startswith("pg_"):
        reasons.append(
            f"Its search_path ({path}) begins with no schema in which tables are kept. Set it"
            f" with ALTER ROLE {role} SET search_path, or create the schema."
        )
    if getattr(connection, "pooled", False):
        reasons += [
            f"{name} is {found[name]!r}, and behind a connection pooler it cannot be set for one client."
            f" Run: ALTER ROLE {role} SET {name} = '{value}'"
            for name, (value, accepts) in _POOLED.items()
            if name in found and not accepts(found[name])
        ]
    return reasons
