"""Static files, each at an address with a hash of its content, so that a browser never asks for one twice.

Scripts and stylesheets are sent with such addresses in place of those that they import or load, so a hash
covers everything that its file needs. Django's `ManifestStaticFilesStorage` does the same, but a command must
first collect all files in a directory, which takes seconds. Here a file is read when its address is first
needed and then kept in memory: nothing is collected, and the server starts at once.
"""

import hashlib
import mimetypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urljoin

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.decorators import sync_and_async_middleware
from django.views.decorators.http import require_safe

from intramedial.http.security import YEAR_S

# What stands before an address, and the address. In a script, comments match first and without either, since
# nothing is loaded for a type that a comment imports.
ADDRESSES = {
    ".css": re.compile(r"""(?P<before>\burl\(\s*["']?|@import\s*["'])(?P<address>[^"')\s]+)"""),
    ".js": re.compile(
        r"""^\s*//.*$|/\*\*(?s:.*?)\*/"""
        r"""|(?P<before>^(?:import|export\b[^"';]*\bfrom)\b[^"';(]*["']|\bimport\(\s*["'])"""
        r"""(?P<address>\.[^"']+)""",
        re.MULTILINE,
    ),
}
# Only what Python itself knows, so that every machine sends the same.
TYPES = mimetypes.MimeTypes()
TYPES.add_type("text/javascript", ".js")
TYPES.add_type("font/woff2", ".woff2")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent. `imports` are the addresses of the modules that it needs before it can run."""

    address: str
    body: bytes
    version: str
    imports: tuple[str, ...] = ()


def static_file(name: str) -> StaticFile:
    """The file of that name, such as `js/home.js`. KeyError when there is none.

    RecursionError when files need one another in a circle, which tests find: then no hash can cover them.
    """
    if settings.DEBUG:  # without a hash, so that what is being edited is seen at the next reload
        body = Path(_places()[name]).read_bytes()
        return StaticFile(settings.STATIC_URL + name, body, _version(body))
    return _read(name)


@cache
def _read(name: str) -> StaticFile:
    body = Path(_places()[name]).read_bytes()
    imports: dict[str, None] = {}

    def with_version(found: re.Match[str]) -> str:
        before, address = found["before"], found["address"]
        target, mark, fragment = urljoin(settings.STATIC_URL + name, address or "").partition("#")
        if not address or not target.startswith(settings.STATIC_URL):
            return str(found[0])
        needed = _read(target.removeprefix(settings.STATIC_URL))
        if "(" not in before:  # an import that has to be there first, and not `import("…")` when it is used
            imports.update(dict.fromkeys((needed.address, *needed.imports)))
        return f"{before}{needed.address}{mark}{fragment}"

    if pattern := ADDRESSES.get(PurePath(name).suffix):
        body = pattern.sub(with_version, body.decode()).encode()
    version = _version(body)
    return StaticFile(f"{settings.STATIC_URL}{name}?v={version}", body, version, tuple(imports))


def _places() -> dict[str, str]:
    """Where each file lies, by its name."""
    if settings.DEBUG:
        _found.cache_clear()
    return _found()


@cache
def _found() -> dict[str, str]:
    places: dict[str, str] = {}
    for finder in finders.get_finders():
        for name, storage in finder.list(None):
            places.setdefault(name, storage.path(name))
    return places


def _version(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:12]


class Storage(StaticFilesStorage):
    """Gives `{% static %}` its addresses."""

    def url(self, name: str | None) -> str:
        """The address of a file. ValueError when there is none of that name."""
        try:
            return static_file(name or "").address
        except KeyError:
            raise ValueError(f"there is no static file {name!r}") from None


@sync_and_async_middleware
def middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Django's middleware: answers for the static files, and lets all else through."""
    if iscoroutinefunction(get_response):

        async def respond(request: HttpRequest) -> HttpResponseBase:
            return _answer(request) or await get_response(request)

        return respond
    return lambda request: _answer(request) or get_response(request)


def _answer(request: HttpRequest) -> HttpResponseBase | None:
    if request.path_info.startswith(settings.STATIC_URL):
        name = request.path_info.removeprefix(settings.STATIC_URL)
        if name in _places():
            return _send(request, name)
    return None


@require_safe
def _send(request: HttpRequest, name: str) -> HttpResponseBase | None:
    file = static_file(name)
    media_type = TYPES.guess_type(name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    response = HttpResponse(file.body, content_type=media_type + charset)
    # An address of an earlier version, in a page from before an upgrade, has the file as it is now.
    current = request.GET.get("v") == file.version
    response["Cache-Control"] = f"public, max-age={YEAR_S}, immutable" if current else "no-cache"
    response["Content-Length"] = str(len(file.body))
    response["ETag"] = f'"{file.version}"'
    return get_conditional_response(request, etag=response["ETag"], response=response)
