"""A script for each rule, with the expected result of each step. They run on every engine."""

from __future__ import annotations

from .language import Script, parse

TEXTS = {
    "grant, refusal with a place, release, claim": """
        0     A acquire lock:a                      -> granted token=1 expires_at=30000
        100   B acquire lock:a                      -> lease_held holder=A position=1 kept_until=35100
        200   A release lock:a                      -> released token=1 trust=50.5 delta=0.5
        +0    C acquire lock:a                      -> lease_held holder=B offered=True position=2
        900   B acquire lock:a                      -> granted token=2 expires_at=30900
    """,
    "renewal keeps id, token and mode": """
        0      A acquire doc:a                      -> granted lease_id=lse_1 token=1
        20000  A acquire doc:a                      -> renewed lease_id=lse_1 token=1 expires_at=50000
        +0     A acquire doc:a shared               -> renewed lease_id=lse_1 mode=exclusive
        49999  A release doc:a id=1                 -> released lease_id=lse_1
    """,
    "readers share, a writer waits, a reader does not overtake": """
        0      A acquire doc:a shared               -> granted token=1
        +0     B acquire doc:a shared               -> granted token=2
        10     C acquire doc:a                      -> lease_held holder=A position=1
        20     D acquire doc:a shared               -> lease_held holder=A position=2 wait_ms=50
        30     A release doc:a                      -> released
        40     B release doc:a                      -> released
        50     D acquire doc:a shared               -> lease_held holder=C offered=True position=2
        60     C acquire doc:a                      -> granted token=3
        70     C release doc:a                      -> released
        80     D acquire doc:a shared               -> granted token=4
    """,
    "a sole reader upgrades past a writer it holds back": """
        0      A acquire doc:a shared               -> granted
        +0     B acquire doc:a                      -> lease_held position=1
        10     A acquire doc:a                      -> granted token=2 lease_id=lse_3 mode=exclusive
        +0     A release doc:a id=1                 -> stale_lease
        20     A release doc:a id=3                 -> released trust=50.5
        30     B acquire doc:a                      -> granted token=3
    """,
    "two readers that both want to write": """
        0      A acquire doc:a shared               -> granted
        +0     B acquire doc:a shared               -> granted
        +0     A acquire doc:a                      -> lease_held holder=B position=1
        +0     B acquire doc:a                      -> deadlock holder=A waiting_on=doc:a
        5      B release doc:a                      -> released
        +0     A acquire doc:a                      -> granted token=3
    """,
    "asking in the other mode loses the place": """
        0      A acquire doc:a                      -> granted
        +0     B acquire doc:a                      -> lease_held position=1
        +0     C acquire doc:a                      -> lease_held position=2
        +0     B acquire doc:a shared               -> lease_held position=2
        10     B acquire doc:a nowait               -> lease_held position=None
        20     A release doc:a                      -> released
        +0     D acquire doc:a                      -> lease_held holder=C offered=True
    """,
    "a full queue, and requests without queue": """
        0      A acquire lock:a                     -> granted
        +0     B1 acquire lock:a                    -> lease_held admitted=1 wait_ms=25
        +0     B2 acquire lock:a                    -> lease_held admitted=2 wait_ms=50
        +0     B3 acquire lock:a                    -> lease_held admitted=3 wait_ms=100
        +0     N acquire lock:a nowait              -> lease_held admitted=3 wait_ms=200 position=None
        +0     B4 acquire lock:a                    -> lease_held admitted=4 wait_ms=200
        +0     B5 acquire lock:a                    -> lease_held admitted=5 wait_ms=400
        +0     B6 acquire lock:a                    -> lease_held admitted=6 wait_ms=800
        +0     B7 acquire lock:a                    -> lease_held admitted=7 wait_ms=800
        +0     B8 acquire lock:a                    -> lease_held admitted=8 wait_ms=800 position=8
        +0     B9 acquire lock:a                    -> lease_held admitted=8 wait_ms=800 position=None
        5      B4 withdraw lock:a                   -> withdrawn
        +0     B4 withdraw lock:a                   -> nothing
        +0     B9 acquire lock:a                    -> lease_held position=8
        +0     B5 acquire lock:a                    -> lease_held position=4
    """,
    "two half-cycles": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:b                     -> granted
        +0     A acquire lock:b                     -> lease_held holder=B
        +0     B acquire lock:a                     -> deadlock holder=A waiting_on=lock:b
        5      B withdraw lock:a                    -> withdrawn
        +0     B release lock:b                     -> released
        +0     A acquire lock:b                     -> granted token=2
        +0     A release lock:a                     -> released
        +0     B acquire lock:a                     -> granted token=2
    """,
    "a cycle of four, in one instant": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:b                     -> granted
        +0     C acquire lock:c                     -> granted
        +0     D acquire lock:d                     -> granted
        +0     C acquire lock:d                     -> lease_held
        +0     A acquire lock:b                     -> lease_held
        +0     B acquire lock:c                     -> lease_held
        +0     D acquire lock:a                     -> deadlock holder=A waiting_on=lock:b
        +0     E acquire lock:a                     -> lease_held position=1
    """,
    "a cycle through a waiter ahead": """
        0      H acquire lock:h                     -> granted
        +0     A acquire lock:a                     -> granted
        +0     B acquire lock:h                     -> lease_held position=1
        +0     A acquire lock:h                     -> lease_held position=2
        5      B acquire lock:a                     -> deadlock holder=A waiting_on=lock:h
    """,
    "a refused agent's other wait on the resource leaves the queue": """
        0      H acquire doc:x                      -> granted
        +0     R acquire doc:x shared               -> lease_held position=1
        +0     A acquire doc:x shared               -> lease_held position=2
        +0     A acquire lock:a                     -> granted
        +0     R acquire lock:a                     -> lease_held
        5      A acquire doc:x                      -> deadlock holder=R waiting_on=lock:a
        +0     A withdraw doc:x                     -> withdrawn
        +0     A withdraw doc:x                     -> nothing
    """,
    "an offer lapses and ends the silent waits": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:a                     -> lease_held
        +0     C acquire lock:a                     -> lease_held
        +0     D acquire lock:a                     -> lease_held
        1000   A release lock:a                     -> released
        1800   D acquire lock:a                     -> lease_held position=3 holder=B offered=True
        2999   E acquire lock:a nowait              -> lease_held holder=B
        3000   E acquire lock:a nowait              -> lease_held holder=D admitted=1
        4999   D acquire lock:a                     -> granted token=2
    """,
    "a queue of dead agents delays a free resource by one offer": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:a                     -> lease_held
        +0     C acquire lock:a                     -> lease_held
        1000   A release lock:a                     -> released
        3000   E acquire lock:a                     -> granted token=2
    """,
    "a crashed holder": """
        0      A acquire lock:a                     -> granted
        10000  B acquire lock:a                     -> lease_held holder=A expires_at=30000
        29999  A release lock:b                     -> not_held holder=None
        30000  A release lock:a id=1                -> stale_lease
        +0     A release lock:a                     -> not_held
        31999  B acquire lock:a                     -> granted token=2
        +0     A acquire lock:a                     -> lease_held holder=B
        +0     B release lock:a                     -> released trust=50.5
    """,
    "everything expired before the next request": """
        0      A acquire lock:a                     -> granted
        +0     A acquire lock:b                     -> granted
        20000  B acquire lock:a                     -> lease_held
        +0     C acquire lock:b shared              -> lease_held
        90000  D acquire lock:a                     -> granted token=2
        +0     A acquire lock:b                     -> granted token=2
        +0     A release lock:b                     -> released trust=40.5
    """,
    "a wait and a lease that end together": """
        5000   A acquire lock:a                     -> granted
        +0     B acquire lock:a                     -> lease_held kept_until=40000
        10000  A acquire lock:a                     -> renewed expires_at=40000
        40000  C acquire lock:a                     -> granted token=2
    """,
    "a wait is refreshed, then left to expire": """
        0      A acquire lock:a                     -> granted
        1      B acquire lock:a                     -> lease_held kept_until=35001
        29000  A acquire lock:a                     -> renewed
        30000  B acquire lock:a                     -> lease_held position=1 kept_until=65000
        58000  A acquire lock:a                     -> renewed expires_at=88000
        64999  C acquire lock:a nowait              -> lease_held admitted=1
        65000  C acquire lock:a nowait              -> lease_held admitted=0 wait_ms=25
    """,
    "readers on offer, one comes": """
        0      A acquire doc:a                      -> granted
        +0     B acquire doc:a shared               -> lease_held position=1
        +0     C acquire doc:a shared               -> lease_held position=2
        +0     D acquire doc:a                      -> lease_held position=3
        10     A release doc:a                      -> released
        20     C acquire doc:a shared               -> granted
        30     D acquire doc:a                      -> lease_held holder=C position=2
        2010   E acquire doc:a shared               -> lease_held holder=C position=2
        40000  D acquire doc:a                      -> granted
    """,
    "stale and foreign ids change nothing": """
        0      A acquire lock:a                     -> granted
        +0     B release lock:a id=1                -> stale_lease
        +0     B release lock:b id=1                -> stale_lease
        +0     A release lock:a id=0                -> stale_lease
        +0     B release lock:a                     -> not_held holder=A
        +0     A release lock:a id=1                -> released
        +0     A release lock:a id=1                -> stale_lease
        +0     A release lock:a                     -> not_held holder=None
    """,
    "revoked without a move of trust": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:a                     -> lease_held
        +0     A revoke lock:a id=1                 -> ended
        +0     A revoke lock:a id=1                 -> nothing
        5      B acquire lock:a                     -> granted token=2
        +0     A acquire lock:c                     -> granted
        +0     A release lock:c                     -> released trust=50.5
    """,
    "one agent leaves the queue and comes back in one instant": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:a                     -> lease_held position=1
        +0     C acquire lock:a                     -> lease_held position=2
        +0     B withdraw lock:a                    -> withdrawn
        +0     B acquire lock:a                     -> lease_held position=2
        +0     C withdraw lock:a                    -> withdrawn
        +0     C acquire lock:a                     -> lease_held position=2
        10     C acquire lock:a                     -> lease_held position=2
    """,
    "one resource passes through many agents in one instant": """
        0      A acquire lock:a                     -> granted token=1
        +0     A release lock:a                     -> released
        +0     B acquire lock:a                     -> granted token=2
        +0     C acquire lock:a                     -> lease_held
        +0     B release lock:a                     -> released
        +0     C acquire lock:a                     -> granted token=3
        +0     C release lock:a                     -> released
        +0     A acquire lock:a                     -> granted token=4
        +0     A acquire lock:a                     -> renewed token=4
    """,
    "the same deadlock again, younger": """
        0      A acquire lock:a                     -> granted
        +0     B acquire lock:b                     -> granted
        +0     A acquire lock:b                     -> lease_held
        +0     B acquire lock:a                     -> deadlock
        20000  A acquire lock:a                     -> renewed
        +0     B acquire lock:b                     -> renewed
        +0     A acquire lock:b                     -> lease_held
        +0     B acquire lock:a                     -> deadlock
        36000  A acquire lock:a                     -> renewed
    """,
}

SCRIPTS: tuple[Script, ...] = tuple(parse(name, text) for name, text in TEXTS.items())
