"""Proofs that the sender holds a key: compact JWSs (RFC 7515, EdDSA) that the key itself has signed.

The header is `{"alg": "EdDSA", "typ": …}`. The claims are `did`, the did:key that signs; `aud`, the public
origin of this service; `iat`, the time in seconds; and one that says what the proof is for, depending on
`typ`:

- `intramedial-agent+jwt` with `trial`, a did:key: to join the trial that this key began;
- `intramedial-agent+jwt` with `workspace`, a `ws_…`: to be registered in that workspace;
- `intramedial-adoption+jwt` with `for`, a text from a page: to give the key's trial to the person who got the
  text.
"""

from collections.abc import Mapping
from typing import Any

from intramedial.http.formats import from_base64url
from intramedial.http.strict_json import MalformedJson, parse_object
from intramedial.identity.did import did_key_public
from intramedial.identity.signatures import MAX_SKEW_S, MAX_VALIDITY_S, verify_ed25519

TYPE = "intramedial-agent+jwt"
ADOPTION = "intramedial-adoption+jwt"
MAX_DEPTH = 4


class BadProof(ValueError):
    """A proof that was not accepted. `fault` is shape, header, claim (its name is `claim`), age or
    signature."""

    def __init__(self, fault: str, words: str, claim: str = ""):
        super().__init__(words)
        self.fault = fault
        self.claim = claim


def check_proof(jws: str, *, did: str, trial: str, audience: str, now: float) -> None:
    """Raise BadProof unless `jws` proves that the holder of `did` wants to join `trial`."""
    check(jws, {"did": did, "trial": trial, "aud": audience}, now=now)


def check(jws: str, expected: Mapping[str, str], *, now: float, typ: str = TYPE) -> None:
    """Raise BadProof unless the key of `expected["did"]` signed a JWS with these claims.

    `now` is in seconds since the Unix epoch. A proof is valid for `MAX_VALIDITY_S`, plus the skew of clocks.
    """
    try:
        signed, _, signature_part = jws.rpartition(".")
        header_part, _, claims_part = signed.partition(".")
        header, claims = (_json(part) for part in (header_part, claims_part))
        signature = from_base64url(signature_part)
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
        return parse_object(from_base64url(part), MAX_DEPTH)
    except MalformedJson as error:
        raise ValueError(str(error)) from None
