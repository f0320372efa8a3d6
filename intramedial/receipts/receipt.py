"""Receipts: their claims, making one, reading one and checking its signature."""

import json
import logging
from collections import OrderedDict

import orjson
from django.conf import settings
from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from intramedial.http.formats import Json, from_base64url
from intramedial.receipts import signing

logger = logging.getLogger(__name__)

RECENT = 4_096  # receipts, of some thousand bytes each
_recent: OrderedDict[str, str] = OrderedDict()  # each single operation on it is safe between threads


def recent(jti: str) -> str | None:
    """The JWS of a receipt that this process signed a moment ago, so that the ledger need not sign it
    again."""
    return _recent.pop(jti, None)


def forget() -> None:
    """Forget the receipts that were signed a moment ago."""
    _recent.clear()


def claims(
    *,
    iat: int,
    jti: str,
    sub: str,
    auth: str | None,
    workspace: str,
    event: str,
    outcome: str,
    resource: str,
    digest: str | None,
    result_json: bytes,
    iss: str | None = None,
) -> bytes:
    """The bytes to be signed, as JSON: the claims in a fixed order, without spaces.

    ``iat`` is in seconds since the Unix epoch, ``jti`` the receipt's id, ``sub`` the agent's DID,
    ``resource`` the base name of what was granted, refused or ended, ``digest`` that of the request's body as
    in Content-Digest (``sha-256=:…:``), ``result_json`` the answer's body without ``receipt``, used as it is.
    A lease that ends without a request (an expiry) has neither ``auth`` nor ``digest``.
    """
    document: Json = {
        "iss": settings.BASE_URL if iss is None else iss,
        "iat": iat,
        "jti": jti,
        "sub": sub,
    }
    if auth is not None:
        document["auth"] = auth
    document |= {"workspace": workspace, "event": event, "outcome": outcome, "resource": resource}
    if digest is not None:
        document["request"] = {"digest": digest}
    document["result"] = orjson.Fragment(result_json)
    return orjson.dumps(document)


def receipt(claims: bytes, jti: str, kid: str | None = None) -> dict[str, str] | None:
    """The receipt for claims made by :func:`claims`, or ``None`` if signing fails: the lease stands all the
    same.

    With ``kid`` that key signs it, so that a copy made after a rotation is the same, byte for byte.
    """
    try:
        signer = signing.current() if kid is None else signing.by_kid(kid)
        jws = signer.sign(claims)
        _recent[jti] = jws
        if len(_recent) > RECENT:
            _recent.popitem(last=False)
        return {"id": jti, "kid": signer.kid, "jws": jws}
    except Exception as error:
        # Without the traceback: frames on the way hold the private key.
        logger.error("receipt %s was not signed: %s: %s", jti, type(error).__name__, error)
        return None


def read_receipt(jws: str) -> Json:
    """The claims of a receipt that a key of this service signed. ``ValueError`` with words otherwise.

    It checks what anybody can check with the published keys.
    """
    try:
        header_part, payload_part, signature_part = jws.split(".")
        header = json.loads(from_base64url(header_part))
        key = next(key for key in signing.jwks()["keys"] if key["kid"] == header["kid"])
        signed = from_base64url(signature_part) + f"{header_part}.{payload_part}".encode("ascii")
        if header["alg"] != "EdDSA" or header["typ"] != signing.HEADER_TYPE:
            raise ValueError("the header is not a receipt's")
        crypto_sign_open(signed, from_base64url(key["x"]))
        claims: Json = json.loads(from_base64url(payload_part))
    except StopIteration:
        raise ValueError("no key of this service signed it") from None
    except BadSignatureError:
        raise ValueError("the signature does not match") from None
    except (KeyError, TypeError, UnicodeError) as error:
        raise ValueError("it is not a receipt") from error
    return claims


def header_of(jws: str) -> Json:
    """The header of a receipt, whose signature is not checked. Empty if the text is no JWS."""
    return _part(jws, 0)


def claims_of(jws: str) -> Json:
    """The claims of a receipt, whose signature is not checked. Empty if the text is no JWS."""
    return _part(jws, 1)


def resource_of(claims: Json) -> str:
    """The base name of the resource that a receipt is about, or "" if the receipt does not name it.

    Receipts have a claim for it. Older ones name the resource only in their result, or not at all.
    """
    claimed = claims.get("resource")
    if isinstance(claimed, str):
        return claimed
    result = claims.get("result")
    if not isinstance(result, dict):
        return ""
    for part in result.values():
        if isinstance(part, dict) and "resource" in part:
            return str(part["resource"])
    cycle = result.get("cycle")
    if isinstance(cycle, list) and cycle and isinstance(cycle[0], dict):
        return str(cycle[0].get("waitsFor", ""))
    return ""


def _part(jws: str, number: int) -> Json:
    try:
        found = json.loads(from_base64url(jws.split(".")[number]))
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}
