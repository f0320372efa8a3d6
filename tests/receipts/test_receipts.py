"""Receipts: their claims, and that independent libraries verify them."""

import base64
import hashlib
import json
import logging

import jwt
import pytest
from joserfc import jws as joserfc_jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from intramedial.receipts import published, receipt, signing

# RFC 9864 (2025) prefers the name "Ed25519" to "EdDSA", and joserfc warns about it. Few libraries know the
# new name; all know the old one, which means the same here.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")

RESULT = b'{"ok":true,"lease":{"leaseId":"lse_1","fencingToken":7,"expiresAt":"2026-01-01T00:00:30.000Z"}}'
BODY = b'{"resource":"lock:a","actorDid":"did:example:a"}'
DIGEST = f"sha-256=:{base64.b64encode(hashlib.sha256(BODY).digest()).decode()}:"


@pytest.fixture(autouse=True)
def signing_keys(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    settings.BASE_URL = "https://api.intramedial.com"


def make_claims(**changes):
    given = {
        "iat": 1_700_000_000,
        "jti": "rcp_1",
        "sub": "did:example:a",
        "auth": "workspace_key",
        "workspace": "ws_1",
        "event": "coordination.lease",
        "outcome": "granted",
        "resource": "lock:a",
        "digest": DIGEST,
        "result_json": RESULT,
    }
    return receipt.claims(**(given | changes))


def make_receipt(**changes):
    return receipt.receipt(make_claims(**changes), "rcp_1")


def pyjwt(jws, keys):
    kid = jwt.get_unverified_header(jws)["kid"]
    key = next(key for key in jwt.PyJWKSet.from_dict(keys).keys if key.key_id == kid)
    return jwt.decode(jws, key, algorithms=["EdDSA"], issuer="https://api.intramedial.com", leeway=10**9)


def joserfc(jws, keys):
    return json.loads(
        joserfc_jws.deserialize_compact(jws, KeySet.import_key_set(keys), algorithms=["EdDSA"]).payload
    )


def test_the_claims_are_those_of_the_design():
    assert json.loads(make_claims()) == {
        "iss": "https://api.intramedial.com",
        "iat": 1_700_000_000,
        "jti": "rcp_1",
        "sub": "did:example:a",
        "auth": "workspace_key",
        "workspace": "ws_1",
        "event": "coordination.lease",
        "outcome": "granted",
        "resource": "lock:a",
        "request": {"digest": DIGEST},
        "result": json.loads(RESULT),
    }


def test_the_claims_are_fixed_bytes_with_the_result_unchanged():
    assert make_claims() == make_claims()
    assert make_claims().endswith(b'"result":' + RESULT + b"}")
    assert b"\n" not in make_claims()


def test_an_expiry_has_no_request():
    claims = json.loads(make_claims(event="coordination.expire", outcome="expired", auth=None, digest=None))
    assert "auth" not in claims
    assert "request" not in claims


@pytest.mark.parametrize("verify", [pyjwt, joserfc])
def test_other_libraries_verify_it_with_the_published_keys(verify):
    made = make_receipt(sub="did:web:ñandú.example")
    keys = json.loads(published.jwks_response()[0])
    assert made["id"] == "rcp_1"
    assert made["kid"] == keys["keys"][0]["kid"]
    assert verify(made["jws"], keys) == json.loads(make_claims(sub="did:web:ñandú.example"))


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize(
    ("verify", "refusals"),
    [
        (pyjwt, (jwt.InvalidTokenError, KeyError, StopIteration)),
        (joserfc, (JoseError, ValueError)),
        (lambda jws, keys: receipt.read_receipt(jws), ValueError),
    ],
)
def test_one_changed_byte_anywhere_is_noticed(part, verify, refusals):
    jws, keys = make_receipt()["jws"], signing.jwks()
    verify(jws, keys)
    parts = jws.split(".")
    data = bytearray(base64.urlsafe_b64decode(parts[part] + "=="))
    for at in range(0, len(data), max(1, len(data) // 12)):
        changed = data.copy()
        changed[at] ^= 1
        parts[part] = signing.base64url(bytes(changed)).decode()
        with pytest.raises(refusals):
            verify(".".join(parts), keys)


def test_a_receipt_from_before_a_rotation_is_verified_after_it(monkeypatch):
    monkeypatch.setattr(signing, "PUBLISH_AHEAD_S", 0)
    before = make_receipt()
    new_kid = signing.ring().rotate(publish_ahead_s=0).kid
    after = make_receipt()
    assert (before["kid"] == new_kid, after["kid"] == new_kid) == (False, True)
    for made in (before, after):
        assert pyjwt(made["jws"], signing.jwks())["jti"] == "rcp_1"
        assert receipt.read_receipt(made["jws"])["jti"] == "rcp_1"


def test_a_receipt_made_again_after_a_rotation_has_the_same_bytes():
    before = make_receipt()
    signing.ring().rotate(publish_ahead_s=0)
    assert receipt.receipt(make_claims(), "rcp_1", before["kid"]) == before
    assert make_receipt() != before


def test_the_answer_stands_without_a_receipt_when_signing_fails(tmp_path, caplog):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "000001.jwk").write_text("not a key")
    with caplog.at_level(logging.ERROR):
        assert make_receipt() is None
    assert "rcp_1 was not signed" in caplog.text
    assert receipt.receipt(b"{}", "rcp_2", "no such key") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c",
        "....",
        "é.a.b",
        "W10.e30.AAAA",
        "bnVsbA.e30.AAAA",
        "e30.e30.",
        "eyJraWQiOiJ4In0.e30.AAAA",
    ],
)
def test_a_text_that_is_no_receipt_is_refused_with_words(text):
    with pytest.raises(ValueError, match=r"\w"):
        receipt.read_receipt(text)


def test_a_receipt_has_one_spelling():
    jws = make_receipt()["jws"]
    for other in (jws + "=", jws + " ", jws.replace(".", ".\n", 1), jws[:-1] + chr(ord(jws[-1]) + 1)):
        with pytest.raises(ValueError, match=r"\w"):
            receipt.read_receipt(other)


def test_a_jws_of_another_type_is_no_receipt():
    signer = signing.current()
    header = signing.base64url(json.dumps({"alg": "EdDSA", "kid": signer.kid, "typ": "JWT"}).encode())
    signer._header = header + b"."
    with pytest.raises(ValueError, match="header"):
        receipt.read_receipt(signer.sign(b"{}"))


def test_jwks_publishes_every_key_and_no_private_one():
    first = signing.current().kid
    second = signing.rotate()
    body, headers = published.jwks_response()
    keys = json.loads(body)["keys"]
    assert [key["kid"] for key in keys] == [second, first]
    assert all(set(key) == {"kty", "crv", "x", "kid", "use", "alg"} for key in keys)
    assert headers["content-type"] == "application/jwk-set+json"
    assert headers["access-control-allow-origin"] == "*"
    # Every cached copy must have expired before the new key signs.
    assert int(headers["cache-control"].rpartition("=")[2]) + signing.REREAD_S < signing.PUBLISH_AHEAD_S


def test_the_did_document_names_the_same_keys(settings):
    signing.rotate()
    body, headers = published.did_response()
    document = json.loads(body)
    assert headers["content-type"] == "application/did+json"
    assert document["id"] == "did:web:api.intramedial.com"
    assert [method["publicKeyJwk"] for method in document["verificationMethod"]] == signing.jwks()["keys"]
    assert document["assertionMethod"] == [method["id"] for method in document["verificationMethod"]]
    assert all(method["controller"] == document["id"] for method in document["verificationMethod"])
    settings.BASE_URL = "http://127.0.0.1:8000"
    assert published.did_document()["id"] == "did:web:127.0.0.1%3A8000"
