"""Documents that anybody may read: the keys of receipts, as a JWK Set and as a DID document (did:web), and
the API's description.

Readers may keep them for `signing.CACHED_S` seconds. Each has a strong `ETag`, so a reader with the current
one gets 304 without a body (RFC 9110, section 13.1.2).
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from ninja import Router

from intramedial.http.calls import Call, Reply
from intramedial.http.shapes import ProblemShape
from intramedial.receipts import signing

ANSWERS = {200: dict[str, Any], 304: None, 413: ProblemShape, 422: ProblemShape}
KEPT = (
    f"It may be kept for {signing.CACHED_S} seconds; send its `ETag` as `If-None-Match` to ask whether it is "
    "still current (304)."
)
IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "description": "RFC 9110, 13.1.2: the `ETag` of the copy that you have.",
    "schema": {"type": "string"},
}
Document = tuple[bytes, dict[str, str]]
"""Body and header fields (lower-case names)."""

CONDITIONAL = {"parameters": [IF_NONE_MATCH]}


def router(description: Callable[[], bytes]) -> Router:
    """The operations of the published documents. `description` returns the API's description as JSON."""
    routes = Router(tags=["published"], by_alias=True)

    @routes.get(
        "/.well-known/jwks.json",
        operation_id="jwks",
        summary="Keys of receipts",
        description="Every key that ever signed a receipt, as a JWK Set (RFC 7517). A new key is published "
        f"{signing.PUBLISH_AHEAD_S} seconds before it signs. {KEPT}",
        response=ANSWERS,
        openapi_extra=CONDITIONAL,
    )
    async def jwks(request: Call) -> Reply:
        """The published keys."""
        return _public(request, *jwks_response())

    @routes.get(
        "/.well-known/did.json",
        operation_id="didDocument",
        summary="did:web",
        description=f"The same keys as a DID document (did:web). {KEPT}",
        response=ANSWERS,
        openapi_extra=CONDITIONAL,
    )
    async def did(request: Call) -> Reply:
        """The DID document of this service."""
        return _public(request, *did_response())

    @routes.get(
        "/openapi.json",
        operation_id="openapi",
        summary="This description",
        description=f"The description you are reading (OpenAPI 3.1). {KEPT}",
        response=ANSWERS,
        openapi_extra=CONDITIONAL,
    )
    async def openapi(request: Call) -> Reply:
        """The API's description."""
        return _public(request, description(), headers("application/json"))

    return routes


def _public(call: Call, body: bytes, fields: dict[str, str]) -> Reply:
    media_type = fields.pop("content-type").encode()
    tag = etag(body)
    headers = tuple((name.encode(), value.encode()) for name, value in (fields | {"etag": tag}).items())
    if is_current(call.parts.headers.get("if-none-match", ""), tag):
        return Reply(304, b"", headers, media_type=b"", public=True)
    return Reply(200, body, headers, media_type, public=True)


@lru_cache(maxsize=8)
def etag(body: bytes) -> str:
    """The entity tag of a document. It is strong, since it is a hash of the document's bytes."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_current(if_none_match: str, tag: str) -> bool:
    """Whether `If-None-Match` names the tag. The comparison is weak (RFC 9110, 13.1.2): it ignores `W/`."""
    if if_none_match.strip() == "*":
        return True
    return tag in (given.strip().removeprefix("W/") for given in if_none_match.split(","))


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


def jwks_response() -> Document:
    """Body and header fields (lower-case names) of ``/.well-known/jwks.json`` (RFC 7517, section 8.5)."""
    return orjson.dumps(signing.jwks()), headers("application/jwk-set+json")


def did_response() -> Document:
    """Body and header fields (lower-case names) of ``/.well-known/did.json``."""
    return orjson.dumps(did_document()), headers("application/did+json")


def headers(content_type: str) -> dict[str, str]:
    """Header fields (lower-case names) of a document that anybody may read and keep for a while."""
    return {
        "content-type": content_type,
        "cache-control": f"public, max-age={signing.CACHED_S}",
        # Pages of every origin may verify receipts.
        "access-control-allow-origin": "*",
    }
