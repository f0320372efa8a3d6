"""One example of each request and answer of the API, by the name of its shape in `coordination.api.schemas`.

Pages and the OpenAPI description show them. A test validates each with its shape.
"""

from intramedial.http.formats import Json

RESOURCE = "lock:deploy/production"
ANA = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
BEN = "did:key:z6Mkfriq1MqLBoPWecGoDLjguo1sB9brj6wT3qZ5BxkKpuP6"
LEASE_ID = "lse_0b5d1f6ac0934a7e8f21c3d4"
RECEIPT: Json = {
    "id": "rcp_5f0c2b9e1d7a4c3b8e6f0a12",
    "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    "jws": "eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJyY3BfNWYwYzJiOWUifQ.c2lnbmF0dXJl",
}
HOLDING: Json = {
    "resource": RESOURCE,
    "holder": ANA,
    "mode": "exclusive",
    "acquiredAt": "2026-01-31T10:00:00.000Z",
    "expiresAt": "2026-01-31T10:00:30.000Z",
    "fencingToken": 7,
}
WAITING: Json = {
    "resource": RESOURCE,
    "actorDid": BEN,
    "mode": "exclusive",
    "position": 1,
    "waitMs": 25,
    "since": "2026-01-31T10:00:02.000Z",
}

EXAMPLES: dict[str, Json] = {
    "LeaseRequest": {"resource": RESOURCE, "actorDid": ANA},
    "ReleaseRequest": {"resource": RESOURCE, "actorDid": ANA, "leaseId": LEASE_ID},
    "LeaseGranted": {
        "ok": True,
        "lease": {"leaseId": LEASE_ID, **HOLDING, "ttlMs": 30_000, "renewed": False},
        "receipt": RECEIPT,
    },
    "LeaseHeld": {
        "ok": False,
        "reason": "lease_held",
        "resource": RESOURCE,
        "holder": ANA,
        "holders": [ANA],
        "offered": False,
        "expiresAt": "2026-01-31T10:00:30.000Z",
        "queued": True,
        "position": 1,
        "keptUntil": "2026-01-31T10:00:37.000Z",
        "stampede": {"admitted": 1, "waitMs": 25},
        "receipt": RECEIPT,
    },
    "Deadlock": {
        "ok": False,
        "reason": "deadlock",
        "resource": "lock:a",
        "holder": ANA,
        "waitingOn": "lock:b",
        "cycle": [{"agent": BEN, "waitsFor": "lock:a"}, {"agent": ANA, "waitsFor": "lock:b"}],
        "receipt": RECEIPT,
    },
    "LeaseReleased": {
        "ok": True,
        "released": {"leaseId": LEASE_ID, "resource": RESOURCE, "fencingToken": 7},
        "trust": {"score": 50.5, "delta": 0.5},
        "receipt": RECEIPT,
    },
    "NotReleased": {
        "ok": False,
        "reason": "stale_lease",
        "resource": RESOURCE,
        "holder": BEN,
        "receipt": RECEIPT,
    },
    "Withdrawn": {"ok": True, "withdrawn": True},
    "Picture": {
        "ok": True,
        "serverTime": "2026-01-31T10:00:02.500Z",
        "holders": [HOLDING],
        "queue": [WAITING],
        "deadlocks": [],
    },
    "Agent": {
        "did": ANA,
        "trust": {"score": 50.0, "releases": 0, "expiries": 0},
        "holds": [HOLDING],
        "waits": [],
    },
}
