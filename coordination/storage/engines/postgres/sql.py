"""The statements of the PostgreSQL engine. A list of rows is one parameter, a JSON document."""

from collections.abc import Sequence

import orjson

from coordination.storage.engines.base import GUARDED, OF_TENANT, UNKNOWN, Row

Columns = dict[str, str]  # name: type


def document(rows: Sequence[Row]) -> str:
    """Rows as the JSON array of arrays that `rows` reads. Bytes are claims, which are UTF-8."""
    return orjson.dumps(rows, default=bytes.decode).decode()


def rows(alias: str, columns: Columns) -> str:
    """The parameter, a JSON array of arrays, as the rows of a table `alias`, with their `place`.

    One document for each statement: an array for each column, for `unnest`, takes the driver several times as
    long.
    """
    values = ", ".join(f"(v->>{at})::{kind} AS {name}" for at, (name, kind) in enumerate(columns.items()))
    return (
        f"(SELECT {values}, place FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS e (v, place))"
        f" AS {alias}"
    )


def insert(table: str, columns: Columns) -> str:
    """The rows are inserted in their order, which becomes the order of ids."""
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM {rows('c', columns)} ORDER BY place"


def each(keys: str, table: str, alias: str, same: str, columns: str = "*") -> str:
    """The rows of `table` for each of these keys, looked up one by one.

    OFFSET 0 forces that. In a join the planner would read a small table whole, or use an index that fits only
    in part, and would go on doing so after the table has grown.
    """
    return f"{keys} CROSS JOIN LATERAL (SELECT {columns} FROM {table} WHERE {same} OFFSET 0) AS {alias}"


def update(table: str, columns: Columns, key: Columns) -> str:
    changes = ", ".join(f"{name} = c.{name}" for name in columns)
    found = each(rows("k", columns | key), table, "t", _same(key), "ctid")
    rows_found = f"(SELECT t.ctid AS at, k.* FROM {found}) AS c"
    return f"UPDATE {table} AS t SET {changes} FROM {rows_found} WHERE t.ctid = c.at"


def delete(table: str, key: Columns) -> str:
    found = each(rows("k", key), table, "t", _same(key), "ctid")
    return f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT t.ctid FROM {found}))"


def guarded(statement: str) -> str:
    """The statement fails, by a division by zero, when it meets another number of rows than its last
    parameter."""
    return f"WITH met AS ({statement} RETURNING 1) SELECT 1 / (count(*) = %s)::int FROM met"


def _same(key: Columns) -> str:
    return " AND ".join(f"{name} = k.{name}" for name in key)


_MEMBER = {"workspace": "text", "resource": "text", "agent": "text"}
_RESOURCE = {"last_token": "bigint", "due_at": "bigint", "contended": "boolean", "used_at": "bigint"}
_RESOURCE_KEY = {"workspace": "text", "name": "text"}
_AGENT = {"score": "int", "releases": "bigint", "expiries": "bigint", "moved_by": "text"}
_AGENT_KEY = {"workspace": "text", "did": "text"}

CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
IDLE_IN_TRANSACTION = "SELECT set_config('idle_in_transaction_session_timeout', %s, true)"
LOCKS = "SELECT pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) AS k"
# The server waits for the client of such a session: between two exchanges, in the middle of one, or to send
# an answer. `state_change` is when the server last did something for it. A lock is shown as the two halves of
# its number. Only sessions of an authority are ended; a pooler may add to their name. MATERIALIZED: all
# conditions are checked before a session is ended.
END_STILL_HOLDERS = """
WITH still AS MATERIALIZED (
  SELECT DISTINCT a.pid FROM unnest(%s::bigint[]) AS k
    JOIN pg_locks AS l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
     AND l.classid = ((k >> 32) & 4294967295)::oid AND l.objid = (k & 4294967295)::oid
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    JOIN pg_stat_activity AS a ON a.pid = l.pid
   WHERE a.usename = current_user AND starts_with(a.application_name, %s) AND a.wait_event_type = 'Client'
     AND a.state_change < clock_timestamp() - %s * interval '1 millisecond'
)
SELECT pid FROM still WHERE pg_terminate_backend(pid)
"""
# Only what is due already. The first of all due times would be found behind the dead index entries of all
# that was renewed or released.
BEGUN = (
    f"WITH now AS MATERIALIZED (SELECT {CLOCK} AS at)"
    " SELECT at, (SELECT max(at) FROM lease_pulse), (SELECT min(due_at) FROM lease_resource"
    " WHERE due_at <= (SELECT coalesce(%s::bigint, at) FROM now)),"
    " (SELECT token_floor::text || ' ' || xmin::text FROM lease_database WHERE name = 'this'),"
    " current_setting('transaction_isolation'), current_setting('synchronous_commit') FROM now"
)
OUTAGES = "SELECT since, until FROM lease_outage"
STAMPS = "SELECT workspace, stamp FROM lease_tenant WHERE workspace = ANY(%s)"
KEYS = rows("k", _RESOURCE_KEY)
_HERE = "workspace = k.workspace AND resource = k.name"
# MATERIALIZED: what is due is found by itself, in its own index. The rows are few, and the planner expects
# many.
RESOURCES = f"""
WITH due AS MATERIALIZED (
  SELECT workspace, name, last_token, due_at, contended FROM lease_resource
   WHERE due_at <= %s AND due_at > 0 AND workspace = ANY(%s)
)
SELECT r.workspace, r.name, r.last_token, r.due_at, r.contended
  FROM {each(KEYS, "lease_resource", "r", "workspace = k.workspace AND name = k.name")}
UNION
SELECT * FROM due
"""
AGENTS = f"""
SELECT a.workspace, a.did, a.score, a.releases, a.expiries, a.moved_by
  FROM {each(KEYS, "lease_agent", "a", "workspace = k.workspace AND did = k.name")}
"""
TENANTS = "SELECT workspace, active, token_floor FROM lease_tenant WHERE workspace = ANY(%s)"
LEASES = f"""
SELECT l.workspace, l.resource, l.lease_id, l.agent, l.mode, l.token, l.acquired_at, l.expires_at
  FROM {each(KEYS, "lease_lease", "l", _HERE)} ORDER BY l.token
"""
WAITS = f"""
SELECT w.workspace, w.resource, w.agent, w.mode, w.since, w.asked_at, w.offered_at
  FROM {each(KEYS, "lease_wait", "w", _HERE)} ORDER BY w.id
"""
REFUSALS = f"""
SELECT f.workspace, f.resource, f.agent, f.mode, f.holder, f.at
  FROM {each(KEYS, "lease_refusal", "f", _HERE)} ORDER BY f.id
"""
# Here the parameters are an array for each column: the planner rightly expects few rows, and looks each up.
_OWN = each("reach AS k", "lease_wait", "own", "workspace = k.workspace AND agent = k.agent")
REACH = f"""
WITH RECURSIVE reach (workspace, agent) AS (
  SELECT * FROM unnest(%s::text[], %s::text[])
  UNION
  SELECT member.workspace::text, member.agent::text
    FROM {_OWN} CROSS JOIN LATERAL (
      SELECT workspace, agent FROM lease_lease
       WHERE workspace = own.workspace AND resource = own.resource
      UNION ALL
      SELECT workspace, agent FROM lease_wait
       WHERE workspace = own.workspace AND resource = own.resource
    ) AS member
)
SELECT DISTINCT own.workspace, own.resource FROM {_OWN}
"""

ACTIVE_NAMES = " UNION ".join(
    f"(SELECT DISTINCT resource FROM {table}"
    " WHERE workspace = %s AND resource > %s ORDER BY resource LIMIT %s)"
    for table in ("lease_lease", "lease_wait", "lease_refusal")
)
ACTIVE_NAMES += " ORDER BY resource LIMIT %s"

UNKNOWN_FLOOR = f"coalesce((SELECT token_floor FROM lease_tenant WHERE workspace = '{UNKNOWN}'), 0)"
WRITE = {
    "resource_insert": insert("lease_resource", _RESOURCE | _RESOURCE_KEY),
    "resource_update": update("lease_resource", _RESOURCE, _RESOURCE_KEY),
    "lease_delete": delete("lease_lease", {"lease_id": "text"}),
    "lease_update": update("lease_lease", {"expires_at": "bigint"}, {"lease_id": "text"}),
    "lease_insert": insert(
        "lease_lease",
        {"workspace": "text", "resource": "text", "lease_id": "text", "agent": "text", "mode": "text"}
        | {"token": "bigint", "acquired_at": "bigint", "expires_at": "bigint"},
    ),
    "wait_delete": delete("lease_wait", _MEMBER),
    "wait_update": update("lease_wait", {"asked_at": "bigint", "offered_at": "bigint"}, _MEMBER),
    "wait_insert": insert(
        "lease_wait",
        _MEMBER | {"mode": "text", "since": "bigint", "asked_at": "bigint", "offered_at": "bigint"},
    ),
    "refusal_delete": delete("lease_refusal", _MEMBER),
    "refusal_insert": insert("lease_refusal", _MEMBER | {"mode": "text", "holder": "text", "at": "bigint"}),
    "agent_insert": insert("lease_agent", _AGENT | _AGENT_KEY),
    "agent_update": update("lease_agent", _AGENT, _AGENT_KEY),
    "trust_insert": insert(
        "lease_trust_move",
        {"workspace": "text", "agent": "text", "lease_id": "text"}
        | {"delta": "int", "score": "int", "at": "bigint", "before": "text"},
    ),
    "trust_delete": delete("lease_trust_move", {"lease_id": "text"}),
    "agent_delete": delete("lease_agent", _AGENT_KEY),
    "tenant_stamp": update("lease_tenant", {"stamp": "bigint"}, {"workspace": "text"}),
    "tenant_put": (
        "INSERT INTO lease_tenant (active, stamp, workspace, token_floor) SELECT active, stamp, workspace,"
        f" {UNKNOWN_FLOOR} FROM {rows('c', {'active': 'bigint', 'stamp': 'bigint', 'workspace': 'text'})}"
        " ON CONFLICT (workspace) DO UPDATE SET active = excluded.active, stamp = excluded.stamp"
    ),
    "outbox_insert": (
        "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims)"
        " SELECT workspace, receipt_id, kid, convert_to(claims, 'UTF8') FROM "
        + rows("c", dict.fromkeys(("workspace", "receipt_id", "kid", "claims"), "text"))
        + " ORDER BY place"
    ),
    "outbox_delete": delete("lease_outbox", {"receipt_id": "text"}),
}
WRITE |= {name: guarded(WRITE[name]) for name in GUARDED}
_IDLE = each(
    KEYS,
    "lease_resource",
    "t",
    "workspace = k.workspace AND name = k.name AND due_at IS NULL AND used_at < %s",
    "ctid",
)
PURGE = f"""
WITH gone AS (
  DELETE FROM lease_resource WHERE ctid = ANY(ARRAY(SELECT t.ctid FROM {_IDLE})) RETURNING last_token
), floor AS (
  INSERT INTO lease_tenant (workspace, stamp, active, token_floor)
  SELECT %s, %s, 0, max(last_token) FROM gone HAVING count(*) > 0
  ON CONFLICT (workspace) DO UPDATE
  SET token_floor = greatest(lease_tenant.token_floor, excluded.token_floor), stamp = excluded.stamp
)
SELECT count(*) FROM gone
"""
PULSE = (
    "INSERT INTO lease_pulse (process, at) VALUES (%s, %s)"
    " ON CONFLICT (process) DO UPDATE SET at = excluded.at"
)

OUTBOX_SIZE = "SELECT count(*)::bigint, coalesce(sum(octet_length(claims)), 0)::bigint FROM lease_outbox"
BUSY = (
    "SELECT (EXISTS (SELECT 1 FROM lease_lease WHERE workspace = %s)"
    " OR EXISTS (SELECT 1 FROM lease_wait WHERE workspace = %s))::int"
)
FORGET_TENANT = [
    f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE workspace = %s LIMIT %s))"
    for table in OF_TENANT
]
STAMP = "UPDATE lease_tenant SET stamp = %s WHERE workspace = %s"
FORGET_RESOURCES = (
    "DELETE FROM lease_resource"
    " WHERE ctid = ANY(ARRAY(SELECT ctid FROM lease_resource WHERE workspace = %s LIMIT %s))"
    " RETURNING last_token"
)
# The oldest rows are read in the order of their ids and deleted by their place in the table, so statistics do
# not choose the plan. With `id = ANY (…)`, a plan made when the table was empty read all of another index.
FORGET_MOVES = (
    "DELETE FROM lease_trust_move WHERE ctid = ANY(ARRAY(SELECT ctid FROM"
    " (SELECT ctid, at FROM lease_trust_move ORDER BY id LIMIT %s) AS oldest WHERE at < %s))"
)
FORGET_FLOOR = "DELETE FROM lease_tenant WHERE workspace = %s RETURNING token_floor"
RAISE_FLOOR = (
    "INSERT INTO lease_tenant (workspace, active, token_floor, stamp) VALUES (%s, 0, %s, 0)"
    " ON CONFLICT (workspace) DO UPDATE"
    " SET token_floor = greatest(lease_tenant.token_floor, excluded.token_floor)"
)
