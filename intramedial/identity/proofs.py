"""Proof that somebody holds a key: a compact JWS (RFC 7515, EdDSA) that the key itself has signed.

Header `{"alg": "EdDSA", "typ": "intramedial-agent+jwt"}`; claims `{"did": the did:key that signs, "trial":
the did:key of the trial it is to join, "aud": the public origin of this service, "iat": now, in seconds}`.
"""

import base64
import binascii
from typing import Any

from intramedial.identity.did import did_key_public
from intramedial.identity.signatures import MAX_SKEW_S, MAX_VALIDITY_S, verify_ed25519
from intramedial.strict_json import MalformedJson, parse_object

TYPE = "intramedial-agent+jwt"
MAX_DEPTH = 4


def check_proof(jws: str, *, did: str, trial: str, audience: str, now: float) -> None:
    """Raise ValueError, with words, unless `jws` proves that whoever holds `did` wants to join `trial`.

    `now` is in seconds since the Unix epoch; a proof is good for a minute, give or take the skew of clocks.
    """
    try:
        signed, _, signature_part = jws.rpartition(".")
        header_part, _, claims_part = signed.partition(".")
        header, claims = (_json(part) for part in (header_part, claims_part))
        signature = _decode(signature_part)
    except ValueError:
        raise ValueError("must be a compact JWS: header.claims.signature, each in base64url") from None
    if header.get("alg") != "EdDSA" or header.get("typ") != TYPE or "crit" in header:
        raise ValueError(f'its header must be {{"alg": "EdDSA", "typ": "{TYPE}"}}')
    for name, expected in (("did", did), ("trial", trial), ("aud", audience)):
        if claims.get(name) != expected:
            raise ValueError(f'its claim "{name}" must be {expected}')
    issued = claims.get("iat")
    if type(issued) is not int or not -MAX_SKEW_S <= now - issued <= MAX_VALIDITY_S + MAX_SKEW_S:
        raise ValueError(f'its claim "iat" must be the time it was made, in seconds, now {int(now)}')
    if not verify_ed25519(did_key_public(did), signed.encode("ascii"), signature):
        raise ValueError("its signature is not one of that key")


def _json(part: str) -> dict[str, Any]:
    try:
        return parse_object(_decode(part), MAX_DEPTH)
    except MalformedJson as error:
        raise ValueError(str(error)) from None


def _decode(part: str) -> bytes:
    """Base64url without padding (RFC 7515, section 2), and nothing but that."""
    try:
        decoded = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise ValueError("not base64url") from None
    if base64.urlsafe_b64encode(decoded).rstrip(b"=").decode() != part:
        raise ValueError("not base64url")
    return decoded
