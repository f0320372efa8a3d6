"""The database itself refuses what the core would never write."""

import sqlite3

import psycopg
import pytest

from tests.store.authorities import START, Database

LEASE = (
    "INSERT INTO lease_lease (workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at)"
    " VALUES ('{workspace}', '{resource}', '{lease_id}', '{agent}', '{mode}', {token}, 1000, 31000)"
)
FIRST = {
    "workspace": "ws_1",
    "resource": "lock:a",
    "lease_id": "lse_1",
    "agent": "did:a",
    "mode": "exclusive",
    "token": 1,
}
WAIT = (
    "INSERT INTO lease_wait (workspace, resource, agent, mode, since, asked_at)"
    f" VALUES ('ws_1', '{{resource}}', '{{agent}}', '{{mode}}', {START}, {START})"
)
MOVE = (
    "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at)"
    f" VALUES ('ws_1', 'did:a', '{{lease_id}}', -50, 450, {START})"
)
ROWS = {
    "lease": LEASE.format(**FIRST),
    "wait": WAIT.format(resource="lock:a", agent="did:b", mode="exclusive"),
    "move": MOVE.format(lease_id="lse_1"),
    "resource": (
        "INSERT INTO lease_resource (workspace, name, last_token, contended, used_at)"
        " VALUES ('ws_1', 'lock:a', 1, false, 0)"
    ),
    "agent": (
        "INSERT INTO lease_agent (workspace, did, score, releases, expiries)"
        " VALUES ('ws_1', 'did:a', 0, 0, 0)"
    ),
    "refusal": (
        "INSERT INTO lease_refusal (workspace, resource, agent, mode, holder, at)"
        " VALUES ('ws_1', 'lock:a', 'did:c', 'exclusive', 'did:a', 0)"
    ),
    "receipt": (
        "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims) VALUES ('ws_1', 'rcp_1', '', '')"
    ),
}
REFUSED = {
    "a second exclusive holder": LEASE.format(**FIRST | {"lease_id": "lse_2", "agent": "did:b", "token": 2}),
    "a token twice": LEASE.format(**FIRST | {"lease_id": "lse_2", "agent": "did:b", "mode": "shared"}),
    "a second lease of an agent": LEASE.format(**FIRST | {"lease_id": "lse_2", "mode": "shared", "token": 2}),
    "a lease id twice": LEASE.format(**FIRST | {"resource": "lock:b", "workspace": "ws_2"}),
    "an unknown mode": LEASE.format(**FIRST | {"lease_id": "lse_2", "resource": "lock:b", "mode": "both"}),
    "a second wait of an agent": WAIT.format(resource="lock:a", agent="did:b", mode="shared"),
    "a wait in no mode": WAIT.format(resource="lock:a", agent="did:c", mode=""),
    "a second move of trust for a lease": MOVE.format(lease_id="lse_1"),
    "a second row of a resource": ROWS["resource"],
    "a second row of an agent": ROWS["agent"],
    "a second refusal of an agent": ROWS["refusal"],
    "a receipt twice": ROWS["receipt"],
    "trust below 0": "UPDATE lease_agent SET score = -1",
    "trust above 100": "UPDATE lease_agent SET score = 1001",
}
TAKEN = {
    "the same names in another workspace": LEASE.format(**FIRST | {"lease_id": "lse_2", "workspace": "ws_2"}),
    "the same token of another resource": LEASE.format(**FIRST | {"lease_id": "lse_3", "resource": "lock:b"}),
    "a wait of another agent": WAIT.format(resource="lock:a", agent="did:c", mode="exclusive"),
    "a wait for another resource": WAIT.format(resource="lock:b", agent="did:b", mode="exclusive"),
    "a move of trust for another lease": MOVE.format(lease_id="lse_2"),
}


def test_rows_that_the_database_refuses(database: Database) -> None:
    for row in ROWS.values():
        database.rows(row)
    for what, statement in REFUSED.items():
        with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
            database.rows(statement)
            pytest.fail(f"it takes {what}")
    for statement in TAKEN.values():
        database.rows(statement)


def test_a_resource_may_have_many_shared_holders(database: Database) -> None:
    for number in range(3):
        row = FIRST | {
            "lease_id": f"lse_{number}",
            "agent": f"did:{number}",
            "mode": "shared",
            "token": number,
        }
        database.rows(LEASE.format(**row))
    assert database.rows("SELECT count(*) FROM lease_lease") == [(3,)]
