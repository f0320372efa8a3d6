"""Documents that anybody may read: the keys that receipts are signed with, and the API's description."""

from collections.abc import Callable
from typing import Any

from ninja import Router

from intramedial.calls import Call, Reply
from intramedial.receipts import wellknown
from intramedial.schemas import Problem

ANSWERS = {200: dict[str, Any], 413: Problem, 422: Problem}
PUBLIC = {"cache-control": "public, max-age=60", "access-control-allow-origin": "*"}


def router(description: Callable[[], bytes]) -> Router:
    """The published documents; `description` gives the API's description as JSON."""
    routes = Router(tags=["published"], by_alias=True)

    @routes.get(
        "/.well-known/jwks.json",
        operation_id="jwks",
        summary="Keys of receipts",
        response=ANSWERS,
    )
    async def jwks(request: Call) -> Reply:
        """Every key that ever signed a receipt, as a JWK Set (RFC 7517)."""
        return _public(*wellknown.jwks_response())

    @routes.get("/.well-known/did.json", operation_id="didDocument", summary="did:web", response=ANSWERS)
    async def did(request: Call) -> Reply:
        """The same keys as a DID document (did:web)."""
        return _public(*wellknown.did_response())

    @routes.get("/openapi.json", operation_id="openapi", summary="This description", response=ANSWERS)
    async def openapi(request: Call) -> Reply:
        """The description you are reading (OpenAPI 3.1)."""
        return _public(description(), {"content-type": "application/json", **PUBLIC})

    return routes


def _public(body: bytes, fields: dict[str, str]) -> Reply:
    media_type = fields.pop("content-type").encode()
    headers = tuple((name.encode(), value.encode()) for name, value in fields.items())
    return Reply(200, body, headers, media_type, public=True)
