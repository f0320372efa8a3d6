"""The SQLite engine's statements, one prepared statement each: it looks up and writes row by row."""

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
WRITE = {
    "resource_insert": "INSERT INTO lease_resource (last_token, due_at, contended, used_at, workspace, name)"
    " VALUES (?, ?, ?, ?, ?, ?)",
    "resource_update": "UPDATE lease_resource SET last_token = ?, due_at = ?, contended = ?, used_at = ?"
    " WHERE workspace = ? AND name = ?",
    "lease_delete": "DELETE FROM lease_lease WHERE lease_id = ?",
    "lease_update": "UPDATE lease_lease SET expires_at = ? WHERE lease_id = ?",
    "lease_insert": "INSERT INTO lease_lease (workspace, resource, lease_id, agent, mode, token, acquired_at,"
    " expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "wait_delete": "DELETE FROM lease_wait WHERE workspace = ? AND resource = ? AND agent = ?",
    "wait_update": "UPDATE lease_wait SET asked_at = ?, offered_at = ?"
    " WHERE workspace = ? AND resource = ? AND agent = ?",
    "wait_insert": "INSERT INTO lease_wait (workspace, resource, agent, mode, since, asked_at, offered_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
    "refusal_delete": "DELETE FROM lease_refusal WHERE workspace = ? AND resource = ? AND agent = ?",
    "refusal_insert": "INSERT INTO lease_refusal (workspace, resource, agent, mode, holder, at)"
    " VALUES (?, ?, ?, ?, ?, ?)",
    "agent_insert": "INSERT INTO lease_agent (score, releases, expiries, moved_by, workspace, did)"
    " VALUES (?, ?, ?, ?, ?, ?)",
    "agent_update": "UPDATE lease_agent SET score = ?, releases = ?, expiries = ?, moved_by = ?"
    " WHERE workspace = ? AND did = ?",
    "trust_insert": "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at, before)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
    "trust_delete": "DELETE FROM lease_trust_move WHERE lease_id = ?",
    "agent_delete": "DELETE FROM lease_agent WHERE workspace = ? AND did = ?",
    "tenant_stamp": "UPDATE lease_tenant SET stamp = ? WHERE workspace = ?",
    "tenant_put": "INSERT INTO lease_tenant (active, stamp, workspace, token_floor) VALUES (?, ?, ?,"
    f" {UNKNOWN_FLOOR})"
    " ON CONFLICT (workspace) DO UPDATE SET active = excluded.active, stamp = excluded.stamp",
    "outbox_insert": "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims) VALUES (?, ?, ?, ?)",
    "outbox_delete": "DELETE FROM lease_outbox WHERE receipt_id = ?",
}
# CROSS JOIN keeps the order of the tables: each step starts from the agents just reached, never from all.
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
