"""Proof that somebody holds a key: a compact JWS (RFC 7515, EdDSA) that the key itself has signed.

Header `{"alg": "EdDSA", "typ": …}`; claims `{"did": the did:key that signs, "aud": the public origin of this
service, "iat": now, in seconds}` and what the key is to do:

- `intramedial-agent+jwt` with `"trial"`, a did:key: join the trial that this key began;
- `intramedial-agent+jwt` with `"workspace"`, a `ws_…`: be registered in that workspace;
- `intramedial-adoption+jwt` with `"for"`, a text that a page gave: hand the key's trial to who was given it.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from intramedial.http.strict_json import MalformedJson, parse_object
from intramedial.identity.did import did_key_public
from intramedial.identity.signatures import MAX_SKEW_S, MAX_VALIDITY_S, verify_ed25519

TYPE = "intramedial-agent+jwt"
ADOPTION = "intramedial-adoption+jwt"
MAX_DEPTH = 4


class BadProof(ValueError):
    """What is wrong, in words and as `fault`: shape, header, claim (which one: `claim`), age, signature."""

    def __init__(self, fault: str, words: str, claim: str = ""):
        super().__init__(words)
        self.fault = fault
        self.claim = claim


def check_proof(jws: str, *, did: str, trial: str, audience: str, now: float) -> None:
    """Raise BadProof unless `jws` proves that whoever holds `did` wants to join `trial`."""
    check(jws, {"did": did, "trial": trial, "aud": audience}, now=now)


def check(jws: str, expected: Mapping[str, str], *, now: float, typ: str = TYPE) -> None:
    """Raise BadProof unless the key of `expected["did"]` signed a JWS with these claims.

    `now` is in seconds since the Unix epoch; a proof is good for a minute, give or take the skew of clocks.
    """
    try:
        signed, _, signature_part = jws.rpartition(".")
        header_part, _, claims_part = signed.partition(".")
        header, claims = (_json(part) for part in (header_part, claims_part))
        signature = _decode(signature_part)
    except ValueError:
        words = "must be a compact JWS: header.claims.signature, each in base64url"
        raise BadProof("shape", words) from None
    if header.get("alg") != "EdDSA" or header.get("typ") != typ or "crit" in header:
        raise BadProof("header", f'its header must be {{"alg": "EdDSA", "typ": "{typ}"}}')
    for name, value in expected.items():
        if claims.get(name) != value:
            raise BadProof("claim", f'its claim "{name}" must be {value}', name)
    issued = claims.get("iat")
    if type(issued) is not int or not -MAX_SKEW_S <= now - issued <= MAX_VALIDITY_S + MAX_SKEW_S:
        words = f'its claim "iat" must be the time it was made, in seconds, now {int(now)}'
        raise BadProof("age", words)
    if not verify_ed25519(did_key_public(expected["did"]), signed.encode("ascii"), signature):
        raise BadProof("signature", "its signature is not one of that key")


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
