"""The baseline: the same operations and the same ninja behind Django's ordinary ASGI handler.

There is no middleware, and the answers' bytes are used unchanged: the only difference from the short path
is the handler and ninja's own machinery. DJANGO_SETTINGS_MODULE names the settings.
"""

from typing import Any

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path
from ninja import NinjaAPI

django.setup()
settings.MIDDLEWARE = []
settings.ROOT_URLCONF = __name__

from coordination.api import rest as operations  # noqa: E402 (needs the applications loaded)
from coordination.api import schemas  # noqa: E402
from intramedial.http.calls import (  # noqa: E402
    Call,
    Reply,
    RequestParts,
)
from intramedial.workspaces.authentication import callers  # noqa: E402


def parts(request: HttpRequest) -> RequestParts:
    """The request in the form that the product's authentication uses."""
    return RequestParts(
        method=str(request.method),
        raw_path=request.path.encode(),
        query=request.META["QUERY_STRING"].encode(),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=request.body,
    )


async def caller(request: HttpRequest) -> callers.Principal:
    """The caller."""
    return await callers.authenticate(parts(request))


def answer(reply: Reply) -> HttpResponse:
    """Django's form of an answer, with the length that Django's common middleware would add."""
    length = {"Content-Length": str(len(reply.body))}
    return HttpResponse(
        reply.body, status=reply.status, content_type=reply.media_type.decode(), headers=length
    )


api = NinjaAPI(openapi_url=None, docs_url=None, auth=caller)


@api.post("coordination/lease")
async def lease(request: HttpRequest, body: schemas.LeaseRequest) -> HttpResponse:
    """Acquire a lease."""
    principal: Any = getattr(request, "auth", None)
    return answer(await operations.lease(Call(parts(request), principal), body))


@api.post("coordination/release")
async def release(request: HttpRequest, body: schemas.ReleaseRequest) -> HttpResponse:
    """Release a lease."""
    principal: Any = getattr(request, "auth", None)
    return answer(await operations.release(Call(parts(request), principal), body))


urlpatterns = [path("api/v1/acp/", api.urls)]
application = ASGIHandler()
