"""Checking a receipt with this service's own keys, as anybody else would with the published ones."""

import base64
import json
from typing import Any

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from intramedial.receipts import signing


def read_receipt(jws: str) -> dict[str, Any]:
    """The claims of a receipt that one of this service's keys signed; ``ValueError`` with words otherwise."""
    try:
        header_part, payload_part, signature_part = jws.split(".")
        header = json.loads(decoded(header_part))
        key = next(key for key in signing.jwks()["keys"] if key["kid"] == header["kid"])
        signed = decoded(signature_part) + f"{header_part}.{payload_part}".encode("ascii")
        if header["alg"] != "EdDSA" or header["typ"] != signing.HEADER_TYPE:
            raise ValueError("the header is not a receipt's")
        crypto_sign_open(signed, decoded(key["x"]))
        claims: dict[str, Any] = json.loads(decoded(payload_part))
    except StopIteration:
        raise ValueError("no key of this service signed it") from None
    except BadSignatureError:
        raise ValueError("the signature does not match") from None
    except (KeyError, TypeError, UnicodeError) as error:
        raise ValueError("it is not a receipt") from error
    return claims


def decoded(part: str) -> bytes:
    """The bytes of one part of a receipt; ``ValueError`` if it is not base64url as receipts have it."""
    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    # Python's decoder skips foreign characters and spare bits; a receipt has one spelling.
    if signing.base64url(data).decode() != part:
        raise ValueError("it is not base64url")
    return data
