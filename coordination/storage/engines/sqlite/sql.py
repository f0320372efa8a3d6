"""The statements of the SQLite engine: it looks up row by row, and writes several rows by one statement."""

from collections.abc import Callable, Sequence

from coordination.storage.engines.base import OF_TENANT, UNKNOWN

RESOURCE = (
    "SELECT workspace, name, last_token, due_at, contended FROM lease_resource"
    " WHERE workspace = ? AND name = ?"
)
AGENT = (
    "SELECT workspace, did, score, releases, expiries, moved_by FROM lease_agent"
    " WHERE workspace = ? AND did = ?"
)
LEASE = "SELECT workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at FROM lease_lease"
WAIT = "SELECT workspace, resource, agent, mode, since, asked_at, offered_at FROM lease_wait"
REFUSAL = "SELECT workspace, resource, agent, mode, holder, at FROM lease_refusal"
HERE = " WHERE workspace = ? AND resource = ? ORDER BY "

UNKNOWN_FLOOR = f"coalesce((SELECT token_floor FROM lease_tenant WHERE workspace = '{UNKNOWN}'), 0)"
MOST_ROWS = 32  # of one statement
Statements = dict[int, str]
"""Number of rows -> the statement that writes so many: `MOST_ROWS`, half of it, … 1. The sizes are few, so
that few statements are prepared."""


def _sizes(statement: Callable[[int], str]) -> Statements:
    return {MOST_ROWS >> power: statement(MOST_ROWS >> power) for power in range(MOST_ROWS.bit_length())}


def _values(width: int, count: int) -> str:
    return "VALUES " + ", ".join([f"({', '.join('?' * width)})"] * count)


def _insert(table: str, *columns: str) -> Statements:
    """The rows are inserted in their order, which becomes the order of ids."""
    return _sizes(lambda count: f"INSERT INTO {table} ({', '.join(columns)}) {_values(len(columns), count)}")


def _update(table: str, columns: Sequence[str], key: Sequence[str]) -> Statements:
    """A row is the new values of `columns`, then those of `key`."""
    changes = ", ".join(f"{name} = c.column{at}" for at, name in enumerate(columns, 1))
    same = " AND ".join(f"t.{name} = c.column{at}" for at, name in enumerate(key, len(columns) + 1))
    width = len(columns) + len(key)
    one = (
        f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in columns)}"
        f" WHERE {' AND '.join(f'{name} = ?' for name in key)}"
    )
    several = _sizes(
        lambda count: f"UPDATE {table} AS t SET {changes} FROM ({_values(width, count)}) AS c WHERE {same}"
    )
    return several | {1: one}


def _delete(table: str, *key: str) -> Statements:
    """The keys are joined by OR, not a list of rows: with OR each row is looked up in the index."""
    same = " AND ".join(f"{name} = ?" for name in key)
    return _sizes(lambda count: f"DELETE FROM {table} WHERE {' OR '.join([f'({same})'] * count)}")


_RESOURCE = "last_token", "due_at", "contended", "used_at"
_AGENT = "score", "releases", "expiries", "moved_by"
_MEMBER = "workspace", "resource", "agent"

WRITE = {
    "resource_insert": _insert("lease_resource", *_RESOURCE, "workspace", "name"),
    "resource_update": _update("lease_resource", _RESOURCE, ("workspace", "name")),
    "lease_delete": _delete("lease_lease", "lease_id"),
    "lease_update": _update("lease_lease", ("expires_at",), ("lease_id",)),
    "lease_insert": _insert(
        *("lease_lease", "workspace", "resource", "lease_id", "agent"),
        *("mode", "token", "acquired_at", "expires_at"),
    ),
    "wait_delete": _delete("lease_wait", *_MEMBER),
    "wait_update": _update("lease_wait", ("asked_at", "offered_at"), _MEMBER),
    "wait_insert": _insert("lease_wait", *_MEMBER, "mode", "since", "asked_at", "offered_at"),
    "refusal_delete": _delete("lease_refusal", *_MEMBER),
    "refusal_insert": _insert("lease_refusal", *_MEMBER, "mode", "holder", "at"),
    "agent_insert": _insert("lease_agent", *_AGENT, "workspace", "did"),
    "agent_update": _update("lease_agent", _AGENT, ("workspace", "did")),
    "trust_insert": _insert(
        *("lease_trust_move", "workspace", "agent", "lease_id", "delta", "score", "at", "before")
    ),
    "trust_delete": _delete("lease_trust_move", "lease_id"),
    "agent_delete": _delete("lease_agent", "workspace", "did"),
    "tenant_stamp": _update("lease_tenant", ("stamp",), ("workspace",)),
    "tenant_put": {
        1: "INSERT INTO lease_tenant (active, stamp, workspace, token_floor) VALUES (?, ?, ?,"
        f" {UNKNOWN_FLOOR})"
        " ON CONFLICT (workspace) DO UPDATE SET active = excluded.active, stamp = excluded.stamp"
    },
    "outbox_insert": _insert("lease_outbox", "workspace", "receipt_id", "kid", "claims"),
    "outbox_delete": _delete("lease_outbox", "receipt_id"),
}
# CROSS JOIN keeps the order of the tables: each step starts from the agents that were just reached.
REACH = """
WITH RECURSIVE reach (workspace, agent) AS (
  VALUES {seeds}
  UNION
  SELECT held.workspace, held.agent
    FROM reach CROSS JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
    CROSS JOIN lease_lease AS held ON held.workspace = own.workspace AND held.resource = own.resource
  UNION
  SELECT queued.workspace, queued.agent
    FROM reach CROSS JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
    CROSS JOIN lease_wait AS queued ON queued.workspace = own.workspace AND queued.resource = own.resource
)
SELECT DISTINCT own.workspace, own.resource
  FROM reach CROSS JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
"""
ACTIVE_NAMES = " UNION ".join(
    "SELECT resource FROM (SELECT DISTINCT resource FROM"
    f" {table} WHERE workspace = ?1 AND resource > ?2 ORDER BY resource LIMIT ?3)"
    for table in ("lease_lease", "lease_wait", "lease_refusal")
)
ACTIVE_NAMES += " ORDER BY resource LIMIT ?3"
PULSE = (
    "INSERT INTO lease_pulse (process, at) VALUES (?, ?) ON CONFLICT (process) DO UPDATE SET at = excluded.at"
)

OUTBOX_SIZE = "SELECT count(*), coalesce(sum(length(claims)), 0) FROM lease_outbox"
BUSY = "SELECT 1 FROM lease_lease WHERE workspace = ? UNION SELECT 1 FROM lease_wait WHERE workspace = ?"
FORGET_TENANT = [
    f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE workspace = ? LIMIT ?)"
    for table in OF_TENANT
]
FORGET_RESOURCES = (
    "DELETE FROM lease_resource"
    " WHERE rowid IN (SELECT rowid FROM lease_resource WHERE workspace = ? LIMIT ?) RETURNING last_token"
)
FORGET_FLOOR = "DELETE FROM lease_tenant WHERE workspace = ? RETURNING token_floor"
RAISE_FLOOR = (
    "INSERT INTO lease_tenant (workspace, active, token_floor, stamp) VALUES (?, 0, ?, 0)"
    " ON CONFLICT (workspace) DO UPDATE SET token_floor = max(token_floor, excluded.token_floor)"
)
