"""Static files straight from where they lie, through WhiteNoise, without a thread or a stream."""

import gzip
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

# Types that gain by it; pictures and fonts are packed already.
PACKED_TYPES = ("text/", "image/svg+xml", "application/json")
WORTH_PACKING = 256


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise for an asynchronous server: the files are small, so each is answered whole.

    WhiteNoise's own answer is a synchronous stream, which Django can only serve with a warning and a thread.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """The file asked for, or whatever the rest of the site answers."""
        response = super().__call__(request)
        if iscoroutinefunction(self) and isinstance(response, HttpResponseBase):
            return _ready(response)
        return response

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The whole file as one answer, with WhiteNoise's status and headers (ETag, ranges, 304), packed with
        gzip for whoever takes it."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file:
                body = found.file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        if response.get("Content-Type", "").startswith(PACKED_TYPES):
            patch_vary_headers(response, ("Accept-Encoding",))
            if response.status_code == 200 and len(body) >= WORTH_PACKING and _takes_gzip(request):
                response.content = packed(body)
                response["Content-Encoding"] = "gzip"
                response["Content-Length"] = str(len(response.content))
        return response


@lru_cache(maxsize=256)
def packed(body: bytes) -> bytes:
    """A file's bytes, packed; remembered, since they are asked for again and again."""
    return gzip.compress(body, 6, mtime=0)


def _takes_gzip(request: HttpRequest) -> bool:
    return "gzip" in request.META.get("HTTP_ACCEPT_ENCODING", "")


async def _ready(response: HttpResponseBase) -> HttpResponseBase:
    return response
