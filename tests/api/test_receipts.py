"""Receipts of answers: any JOSE library verifies them, and they contain the request and the answer."""

import base64
import hashlib
import json

import jwt
import pytest
from django.conf import settings
from joserfc import jws
from joserfc.jwk import KeySet

from intramedial.receipts import receipt as receipts
from intramedial.workspaces import provision
from tests.api.client import LEASE, Caller, did
from tests.signing import Agent

A, B = did("a"), did("b")
# Receipts use the algorithm's name that all of today's libraries know.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")


async def published(caller):
    return (await caller.call("GET", "/.well-known/jwks.json")).json()


def with_pyjwt(receipt, keys):
    key = jwt.PyJWKSet.from_dict(keys)[receipt["kid"]]
    # The authority's clock is the test's, and may be ahead of the clock that PyJWT reads.
    return jwt.decode(receipt["jws"], key, algorithms=["EdDSA"], options={"verify_iat": False})


def with_joserfc(receipt, keys):
    found = jws.deserialize_compact(
        receipt["jws"], KeySet.import_key_set(keys), algorithms=["EdDSA", "Ed25519"]
    )
    assert found.headers() == {"alg": "EdDSA", "typ": "intramedial-receipt+jwt", "kid": receipt["kid"]}
    return json.loads(found.payload)


async def checked(caller, answer):
    """The claims of the answer's receipt, verified by two libraries. Its `result` is the answer's body."""
    keys = await published(caller)
    body = answer.json()
    receipt = body.pop("receipt")
    claims = with_pyjwt(receipt, keys)
    assert with_joserfc(receipt, keys) == claims
    assert claims["jti"] == receipt["id"]
    assert claims["iss"] == settings.BASE_URL
    digest = base64.b64encode(hashlib.sha256(answer.request.content).digest()).decode()
    assert claims["request"] == {"digest": f"sha-256=:{digest}:"}
    assert claims["result"] == body
    assert "exp" not in claims
    return claims


async def test_every_answer_of_lease_and_release_has_a_receipt(caller, workspace):
    first = await caller.lease("lock:a", A)
    await caller.lease("lock:b", B)
    await caller.lease("lock:b", A)
    answers = [
        (first, "coordination.lease", "granted", A),
        (await caller.lease("lock:a", A), "coordination.lease", "renewed", A),
        (await caller.lease("lock:a", did("c")), "coordination.lease", "lease_held", did("c")),
        (await caller.lease("lock:a", B), "coordination.lease", "deadlock", B),
        (await caller.release("lock:a", A, "lse_old"), "coordination.release", "stale_lease", A),
        (await caller.release("lock:free", A), "coordination.release", "not_held", A),
        (await caller.release("lock:a", A), "coordination.release", "released", A),
    ]
    ids = set()
    for answer, event, outcome, agent in answers:
        claims = await checked(caller, answer)
        assert (claims["event"], claims["outcome"], claims["sub"]) == (event, outcome, agent)
        assert (claims["workspace"], claims["auth"]) == (workspace.public_id, "workspace_key")
        ids.add(claims["jti"])
    assert len(ids) == len(answers)


async def test_a_receipt_says_how_the_caller_was_authenticated(trial, caller, workspace, in_thread):
    signed = await trial.lease("lock:a", trial.agent.did)
    assert (await checked(trial, signed))["auth"] == "signature"
    own = Caller((await in_thread(provision.create_api_key, workspace, actor_did=A)).secret)
    assert (await checked(own, await own.lease("lock:a", A)))["auth"] == "agent_key"
    await own.close()


async def test_a_changed_byte_is_noticed(caller):
    answer = await caller.lease("lock:a", A)
    keys, receipt = await published(caller), answer.json()["receipt"]
    header, payload, signature = receipt["jws"].split(".")
    at = len(payload) // 2
    changed = payload[:at] + ("A" if payload[at] != "A" else "B") + payload[at + 1 :]
    with pytest.raises(jwt.InvalidSignatureError):
        with_pyjwt(receipt | {"jws": f"{header}.{changed}.{signature}"}, keys)


async def test_a_lease_is_granted_even_when_signing_fails(caller, monkeypatch):
    def fail(*_):
        raise OSError("no key")

    monkeypatch.setattr(receipts.signing, "by_kid", fail)
    monkeypatch.setattr(receipts.signing, "current", fail)
    answer = await caller.lease("lock:a", A)
    assert (answer.status_code, answer.json()["receipt"]) == (200, None)
    assert (await caller.lease("lock:a", B)).status_code == 409


async def test_the_digest_is_that_of_the_bytes_that_were_sent(caller):
    body = b'{ "actorDid" :"%s", "resource":"lock:\\u0061" , "x": [ ] }' % A.encode()
    claims = await checked(caller, await caller.call("POST", LEASE, body))
    assert claims["result"]["lease"]["resource"] == "lock:a"


async def test_withdrawing_has_no_receipt(caller):
    assert "receipt" not in (await caller.withdraw("lock:a", A)).json()


async def test_a_caller_without_credentials_gets_no_receipt(trial):
    answer = await trial.lease("lock:a", Agent().did)
    assert "receipt" not in answer.json()
