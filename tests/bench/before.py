"""The before: the same operations, by the same ninja, behind Django's ordinary ASGI handler.

Without any middleware, and with the answers' bytes taken as they are: all that differs from the short path is
the handler and ninja's own machinery. DJANGO_SETTINGS_MODULE says which settings.
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
    """The request as the product's authentication takes it."""
    return RequestParts(
        method=str(request.method),
        raw_path=request.path.encode(),
        query=request.META["QUERY_STRING"].encode(),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=request.body,
    )


async def caller(request: HttpRequest) -> callers.Principal:
    """Who is asking."""
    return await callers.authenticate(parts(request))


def answer(reply: Reply) -> HttpResponse:
    """Django's form of an answer, with the length that Django's common middleware would say."""
    length = {"Content-Length": str(len(reply.body))}
    return HttpResponse(
        reply.body, status=reply.status, content_type=reply.media_type.decode(), headers=length
    )


api = NinjaAPI(openapi_url=None, docs_url=None, auth=caller)


@api.post("coordination/lease")
async def lease(request: HttpRequest, body: schemas.LeaseRequest) -> HttpResponse:
    """Ask for a lease."""
    principal: Any = getattr(request, "auth", None)
    return answer(await operations.lease(Call(parts(request), principal), body))


@api.post("coordination/release")
async def release(request: HttpRequest, body: schemas.ReleaseRequest) -> HttpResponse:
    """Give a lease back."""
    principal: Any = getattr(request, "auth", None)
    return answer(await operations.release(Call(parts(request), principal), body))


urlpatterns = [path("api/v1/acp/", api.urls)]
application = ASGIHandler()
