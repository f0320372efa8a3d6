"""The PostgreSQL engine's statements; lists of rows come as one array a column."""

CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
KEYS = "unnest(%s::text[], %s::text[]) AS k (workspace, name)"
# MATERIALIZED: what is due is found by its time alone. Few rows are, and the planner takes them for many.
RESOURCES = f"""
WITH due AS MATERIALIZED (
  SELECT workspace, name, last_token, due_at, contended FROM lease_resource WHERE due_at <= %s
)
SELECT r.workspace, r.name, r.last_token, r.due_at, r.contended
  FROM {KEYS} JOIN lease_resource AS r ON r.workspace = k.workspace AND r.name = k.name
UNION
SELECT * FROM due WHERE workspace = ANY(%s)
"""
AGENTS = f"""
SELECT a.workspace, a.did, a.score, a.releases, a.expiries
  FROM {KEYS} JOIN lease_agent AS a ON a.workspace = k.workspace AND a.did = k.name
"""
TENANTS = "SELECT workspace, active, token_floor FROM lease_tenant WHERE workspace = ANY(%s)"
LEASES = f"""
SELECT l.workspace, l.resource, l.lease_id, l.agent, l.mode, l.token, l.acquired_at, l.expires_at
  FROM {KEYS} JOIN lease_lease AS l ON l.workspace = k.workspace AND l.resource = k.name
 ORDER BY l.token
"""
WAITS = f"""
SELECT w.workspace, w.resource, w.agent, w.mode, w.since, w.asked_at, w.offered_at
  FROM {KEYS} JOIN lease_wait AS w ON w.workspace = k.workspace AND w.resource = k.name ORDER BY w.id
"""
REFUSALS = f"""
SELECT f.workspace, f.resource, f.agent, f.mode, f.holder, f.at
  FROM {KEYS} JOIN lease_refusal AS f ON f.workspace = k.workspace AND f.resource = k.name ORDER BY f.id
"""
REACH = """
WITH RECURSIVE reach (workspace, agent) AS (
  SELECT * FROM unnest(%s::text[], %s::text[])
  UNION
  SELECT member.workspace::text, member.agent::text
    FROM reach JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
    CROSS JOIN LATERAL (
      SELECT workspace, agent FROM lease_lease
       WHERE workspace = own.workspace AND resource = own.resource
      UNION ALL
      SELECT workspace, agent FROM lease_wait
       WHERE workspace = own.workspace AND resource = own.resource
    ) AS member
)
SELECT DISTINCT own.workspace, own.resource
  FROM reach JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
"""

ACTIVE_NAMES = " UNION ".join(
    f"(SELECT DISTINCT resource FROM {table}"
    " WHERE workspace = %s AND resource > %s ORDER BY resource LIMIT %s)"
    for table in ("lease_lease", "lease_wait", "lease_refusal")
)
ACTIVE_NAMES += " ORDER BY resource LIMIT %s"

# Each write takes its rows as columns: %s is one array a column.
WRITE = {
    "resource_insert": (
        "INSERT INTO lease_resource (last_token, due_at, contended, used_at, workspace, name) SELECT * FROM"
        " unnest(%s::bigint[], %s::bigint[], %s::boolean[], %s::bigint[], %s::text[], %s::text[])"
    ),
    "resource_update": (
        "UPDATE lease_resource AS r SET last_token = c.last_token, due_at = c.due_at,"
        " contended = c.contended, used_at = c.used_at FROM unnest(%s::bigint[], %s::bigint[],"
        " %s::boolean[], %s::bigint[], %s::text[], %s::text[])"
        " AS c (last_token, due_at, contended, used_at, workspace, name)"
        " WHERE r.workspace = c.workspace AND r.name = c.name"
    ),
    "lease_delete": "DELETE FROM lease_lease WHERE lease_id = ANY(%s::text[])",
    "lease_update": (
        "UPDATE lease_lease AS l SET expires_at = c.expires_at"
        " FROM unnest(%s::bigint[], %s::text[]) AS c (expires_at, lease_id) WHERE l.lease_id = c.lease_id"
    ),
    "lease_insert": (
        "INSERT INTO lease_lease (workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at)"
        " SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[],"
        " %s::bigint[], %s::bigint[])"
    ),
    "wait_delete": (
        "DELETE FROM lease_wait AS w USING unnest(%s::text[], %s::text[], %s::text[])"
        " AS c (workspace, resource, agent)"
        " WHERE w.workspace = c.workspace AND w.resource = c.resource AND w.agent = c.agent"
    ),
    "wait_update": (
        "UPDATE lease_wait AS w SET asked_at = c.asked_at, offered_at = c.offered_at"
        " FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[])"
        " AS c (asked_at, offered_at, workspace, resource, agent)"
        " WHERE w.workspace = c.workspace AND w.resource = c.resource AND w.agent = c.agent"
    ),
    "wait_insert": (
        "INSERT INTO lease_wait (workspace, resource, agent, mode, since, asked_at, offered_at)"
        " SELECT workspace, resource, agent, mode, since, asked_at, offered_at FROM unnest(%s::text[],"
        " %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[]) WITH ORDINALITY"
        " AS c (workspace, resource, agent, mode, since, asked_at, offered_at, place) ORDER BY place"
    ),
    "refusal_delete": (
        "DELETE FROM lease_refusal AS f USING unnest(%s::text[], %s::text[], %s::text[])"
        " AS c (workspace, resource, agent)"
        " WHERE f.workspace = c.workspace AND f.resource = c.resource AND f.agent = c.agent"
    ),
    "refusal_insert": (
        "INSERT INTO lease_refusal (workspace, resource, agent, mode, holder, at)"
        " SELECT workspace, resource, agent, mode, holder, at FROM unnest(%s::text[], %s::text[],"
        " %s::text[], %s::text[], %s::text[], %s::bigint[]) WITH ORDINALITY"
        " AS c (workspace, resource, agent, mode, holder, at, place) ORDER BY place"
    ),
    "agent_insert": (
        "INSERT INTO lease_agent (score, releases, expiries, workspace, did) SELECT * FROM"
        " unnest(%s::int[], %s::bigint[], %s::bigint[], %s::text[], %s::text[])"
    ),
    "agent_update": (
        "UPDATE lease_agent AS a SET score = c.score, releases = c.releases, expiries = c.expiries"
        " FROM unnest(%s::int[], %s::bigint[], %s::bigint[], %s::text[], %s::text[])"
        " AS c (score, releases, expiries, workspace, did)"
        " WHERE a.workspace = c.workspace AND a.did = c.did"
    ),
    "trust_insert": (
        "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at) SELECT * FROM"
        " unnest(%s::text[], %s::text[], %s::text[], %s::int[], %s::int[], %s::bigint[])"
    ),
    "tenant_put": (
        "INSERT INTO lease_tenant (active, workspace, token_floor)"
        " SELECT active, workspace, 0 FROM unnest(%s::bigint[], %s::text[]) AS c (active, workspace)"
        " ON CONFLICT (workspace) DO UPDATE SET active = excluded.active"
    ),
    "outbox_insert": (
        "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims)"
        " SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bytea[])"
    ),
    "outbox_delete": "DELETE FROM lease_outbox WHERE receipt_id = ANY(%s::text[])",
}
PULSE = (
    "INSERT INTO lease_pulse (process, at) VALUES (%s, %s)"
    " ON CONFLICT (process) DO UPDATE SET at = excluded.at"
)
