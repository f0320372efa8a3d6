"""The published documents: ``/.well-known/jwks.json`` and ``/.well-known/did.json`` (did:web)."""

from typing import Any
from urllib.parse import urlsplit

import orjson
from django.conf import settings

from intramedial.receipts import signing

Response = tuple[bytes, dict[str, str]]


def did_web(base_url: str) -> str:
    """The did:web of an origin (did:web method specification, 3.1): a port's colon is percent-encoded."""
    return "did:web:" + urlsplit(base_url).netloc.lower().replace(":", "%3A")


def did_document() -> dict[str, Any]:
    """The DID document of this service, the issuer of receipts: each published key is an assertion method."""
    did = did_web(settings.BASE_URL)
    methods = [
        {"id": f"{did}#{key['kid']}", "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": key}
        for key in signing.jwks()["keys"]
    ]
    return {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        "id": did,
        "alsoKnownAs": [settings.BASE_URL],
        "verificationMethod": methods,
        "assertionMethod": [method["id"] for method in methods],
    }


def jwks_response() -> Response:
    """Body and header fields (lower-case names) of ``/.well-known/jwks.json`` (RFC 7517, section 8.5)."""
    return orjson.dumps(signing.jwks()), headers("application/jwk-set+json")


def did_response() -> Response:
    """Body and header fields (lower-case names) of ``/.well-known/did.json``."""
    return orjson.dumps(did_document()), headers("application/did+json")


def headers(content_type: str) -> dict[str, str]:
    """Header fields (lower-case names) of a document that everybody may read and keep for a while."""
    return {
        "content-type": content_type,
        "cache-control": f"public, max-age={signing.CACHED_S}",
        # Pages of every origin may verify receipts.
        "access-control-allow-origin": "*",
    }
