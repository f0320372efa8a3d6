"""The JSON API: all operations, registered with django-ninja, and the table from which they are served.

`intramedial.http.short_path` serves it and `intramedial.http.openapi` describes it. Neither has an operation
of its own.
"""

from functools import cache

import orjson
from django.conf import settings
from ninja import NinjaAPI

import coordination.api.rest
import coordination.api.stampede
from coordination.authority import process as authority
from intramedial import __version__
from intramedial.http import openapi, routing
from intramedial.http.short_path import ShortPath
from intramedial.process import health
from intramedial.receipts import published
from intramedial.workspaces import trials_api

DESCRIPTION = f"""\
Exclusive leases for AI agents, with signed receipts anyone can verify.

A lease refused is a normal answer (409, `ok: false`, a `reason`); an error is a problem (RFC 9457,
`application/problem+json`), also with `ok: false` and a `reason`, of a closed list.

A request is checked in this order: path and method (404, 405), size (413), media type (415), credentials
(401, 403, 429), JSON (400), shape (422), whom the credentials may name (403); then it is decided. A path
without the method asked for is `405` with `Allow` and the reason `not_found`. `HEAD` is answered wherever
`GET` is.

JSON is read strictly: UTF-8 without a byte order mark, no name twice in an object, no NaN or infinity, no
lone surrogates, at most {settings.JSON_DEPTH} deep. Unknown members are ignored; an unknown query parameter
is refused (422) with the name that was probably meant. Durations are whole milliseconds (`…Ms`), instants
RFC 3339 in UTC (`…At`). One slash at the end of a path makes no difference.

A page of any origin may send signed requests and read their answers (CORS, without credentials), except for
`POST /api/v1/trial/keys`. Requests with an API key have no CORS headers: a key does not belong into a page.
The published keys and this description may be read from everywhere.
"""


@cache
def description() -> bytes:
    """The OpenAPI description, as JSON."""
    return orjson.dumps(openapi.describe(api))


@cache
def routes_by_path() -> dict[str, dict[str, routing.Route]]:
    """The table of operations: path -> method -> route."""
    return routing.table(api)


api = NinjaAPI(
    title="coordination.lease",
    version=__version__,
    description=DESCRIPTION,
    openapi_url=None,
    docs_url=None,
)
api.add_router("/api/v1/acp", coordination.api.rest.router)
api.add_router("/api/v1/acp", coordination.api.stampede.router)
api.add_router("/api/v1/trial", trials_api.router)
api.add_router(
    "/health",
    health.router(
        lambda: authority.current().check(),
        lambda: authority.current().ledger_fault(),
        lambda: authority.current().dropped(),
    ),
)
api.add_router("", published.router(description))

application = ShortPath(routes_by_path())
"""The ASGI application of all operations registered above."""
