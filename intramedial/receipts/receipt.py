"""What a receipt says, and the receipt itself."""

import logging
from collections import OrderedDict
from typing import Any

import orjson
from django.conf import settings

from intramedial.receipts import signing

logger = logging.getLogger(__name__)

RECENT = 4_096  # receipts, of some thousand bytes each
_recent: OrderedDict[str, str] = OrderedDict()  # each of its steps is safe between threads


def recent(jti: str) -> str | None:
    """The JWS of a receipt signed in this process a moment ago, so that the ledger need not sign it again."""
    return _recent.pop(jti, None)


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
    ``resource`` the base name of what was granted, refused or ended, ``digest`` the request body's as in
    Content-Digest (``sha-256=:…:``), ``result_json`` the answer's body without ``receipt``, taken as it is.
    A lease that ends without a request (an expiry) has neither ``auth`` nor ``digest``.
    """
    document: dict[str, Any] = {
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
    """The receipt for claims made by :func:`claims`, or ``None`` should signing fail: the lease stands.

    With ``kid`` it is signed by that key, so that a copy made after a rotation is the same, byte for byte.
    """
    try:
        signer = signing.current() if kid is None else signing.by_kid(kid)
        jws = signer.sign(claims)
        _recent[jti] = jws
        if len(_recent) > RECENT:
            _recent.popitem(last=False)
        return {"id": jti, "kid": signer.kid, "jws": jws}
    except Exception as error:
        # Not the traceback: frames on the way hold the private key.
        logger.error("receipt %s was not signed: %s: %s", jti, type(error).__name__, error)
        return None
