"""Documents that anybody may read: the keys that receipts are signed with, and the API's description.

Readers may keep them for `signing.CACHED_S` seconds. Each has a strong `ETag`, so that a reader that has the
current one is answered 304 without a body (RFC 9110, section 13.1.2).
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ninja import Router

from intramedial.http.calls import Call, Reply
from intramedial.http.shapes import Problem
from intramedial.receipts import signing, wellknown

ANSWERS = {200: dict[str, Any], 304: None, 413: Problem, 422: Problem}
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
CONDITIONAL = {"parameters": [IF_NONE_MATCH]}


def router(description: Callable[[], bytes]) -> Router:
    """The published documents; `description` gives the API's description as JSON."""
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
        return _public(request, *wellknown.jwks_response())

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
        return _public(request, *wellknown.did_response())

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
        return _public(request, description(), wellknown.headers("application/json"))

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
    """The entity tag of a document: strong, since it is a hash of the document's bytes."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_current(if_none_match: str, tag: str) -> bool:
    """Whether `If-None-Match` names the tag. The comparison is weak (RFC 9110, 13.1.2): `W/` is ignored."""
    if if_none_match.strip() == "*":
        return True
    return tag in (given.strip().removeprefix("W/") for given in if_none_match.split(","))
