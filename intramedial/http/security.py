"""The security headers of every answer: a strict content security policy, and others."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

YEAR_S = 31_536_000


def content_security_policy(base_url: str) -> str:
    """The policy of pages served at `base_url`: everything from the same origin, nothing inline."""
    public = urlsplit(base_url)
    socket = ("wss://" if public.scheme == "https" else "ws://") + public.netloc
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            # Older browsers do not count a WebSocket of the same host as 'self'.
            f"connect-src 'self' {socket}",
            "manifest-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    )


@cache
def headers() -> dict[str, str]:
    """The headers of every answer, the API's short path included."""
    found = {
        "Content-Security-Policy": content_security_policy(settings.BASE_URL),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "X-Frame-Options": "DENY",
    }
    if settings.BASE_URL.startswith("https://"):
        found["Strict-Transport-Security"] = f"max-age={YEAR_S}; includeSubDomains"
    return found


class HeadersMiddleware:
    """Adds `headers()` to every answer, except those that the answer has already."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._awaited = iscoroutinefunction(get_response)
        if self._awaited:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Answer the request."""
        response = self.get_response(request)
        return _when_ready(response) if self._awaited else _with_headers(response)


async def _when_ready(response: Any) -> HttpResponseBase:
    return _with_headers(await response)


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in headers().items():
        response.setdefault(name, value)
    return response
