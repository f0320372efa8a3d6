"""Strict Ed25519: the public vectors, and forgeries that lenient verifiers accept."""

import hashlib
import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature as OpenSSLRefuses
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_core_ed25519_add, crypto_scalarmult_ed25519_base_noclamp

from intramedial.identity import signatures
from intramedial.identity.did import did_key_from_public
from tests.signing import Agent

VECTORS = Path(__file__).parent.parent / "vectors"
AGENT = Agent("ed25519")


@pytest.mark.parametrize("case", json.loads((VECTORS / "rfc8032.json").read_text())["tests"], ids=range(1, 4))
def test_rfc_8032_section_7_1(case):
    public_key, message, signature = (
        bytes.fromhex(case[name]) for name in ("public", "message", "signature")
    )
    assert signatures.verify_ed25519(public_key, message, signature)
    assert not signatures.verify_ed25519(public_key, message + b".", signature)


@pytest.mark.parametrize(
    "case",
    json.loads((VECTORS / "wycheproof_ed25519.json").read_text())["tests"],
    ids=lambda case: case["tcId"],
)
def test_wycheproof(case):
    public_key, message, signature = (bytes.fromhex(case[name]) for name in ("pk", "msg", "sig"))
    assert signatures.verify_ed25519(public_key, message, signature) == (case["result"] == "valid")


# --- forgeries that lenient verifiers accept

IDENTITY = bytes([1]) + bytes(31)
ORDER_TWO = (2**255 - 20).to_bytes(32, "little")  # the point (0, -1)
ORDER = 2**252 + 27742317777372353535851937790883648493


def test_a_forgery_under_the_identity_key_is_refused():
    signature = IDENTITY + bytes(32)  # R = identity, S = 0: [S]B = R + [k]A whatever k is
    Ed25519PublicKey.from_public_bytes(IDENTITY).verify(signature, b"m")  # OpenSSL accepts
    assert not signatures.verify_ed25519(IDENTITY, b"m", signature)


def scalars(seed):
    """The secret scalar of RFC 8032, 5.1.5, and another to be the nonce of a signature."""
    digest = bytearray(hashlib.sha512(seed).digest())
    digest[0] &= 248
    digest[31] = digest[31] & 127 | 64
    return int.from_bytes(digest[:32], "little"), int.from_bytes(digest[32:], "little") % ORDER


def encoded(scalar):
    return (scalar % ORDER).to_bytes(32, "little")


def challenge(r_point, public_key, message):
    return int.from_bytes(hashlib.sha512(r_point + public_key + message).digest(), "little")


def test_a_signature_with_small_order_r_is_refused():
    """Even by the owner of the key: R = identity, S = k·a satisfies the equation."""
    secret, _ = scalars(AGENT.seed)
    signature = IDENTITY + encoded(challenge(IDENTITY, AGENT.public_key, b"m") * secret)
    Ed25519PublicKey.from_public_bytes(AGENT.public_key).verify(signature, b"m")  # OpenSSL accepts
    assert not signatures.verify_ed25519(AGENT.public_key, b"m", signature)


def test_a_signature_with_r_of_mixed_order_is_refused():
    """The equation holds with the cofactor and fails without it: verifiers would disagree."""
    secret, nonce = scalars(AGENT.seed)
    r_point = crypto_core_ed25519_add(crypto_scalarmult_ed25519_base_noclamp(encoded(nonce)), ORDER_TWO)
    signature = r_point + encoded(nonce + challenge(r_point, AGENT.public_key, b"m") * secret)
    assert not signatures.verify_ed25519(AGENT.public_key, b"m", signature)


def test_a_key_of_mixed_order_is_refused():
    """For half of all messages its signatures satisfy both equations, for the others only one."""
    secret, nonce = scalars(AGENT.seed)
    public_key = crypto_core_ed25519_add(AGENT.public_key, ORDER_TWO)
    r_point = crypto_scalarmult_ed25519_base_noclamp(encoded(nonce))
    message = next(m for m in (bytes([n]) for n in range(256)) if challenge(r_point, public_key, m) % 2 == 0)
    signature = r_point + encoded(nonce + challenge(r_point, public_key, message) * secret)
    Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)  # OpenSSL accepts
    assert not signatures.verify_ed25519(public_key, message, signature)
    with pytest.raises(ValueError, match="prime order"):
        did_key_from_public(public_key)


def test_s_is_not_malleable():
    signature = AGENT.private_key.sign(b"m")
    more = signature[:32] + (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")
    assert signatures.verify_ed25519(AGENT.public_key, b"m", signature)
    assert not signatures.verify_ed25519(AGENT.public_key, b"m", more)
    with pytest.raises(OpenSSLRefuses):
        Ed25519PublicKey.from_public_bytes(AGENT.public_key).verify(more, b"m")
