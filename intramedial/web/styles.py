"""Stylesheets by the page: the parts that a page is drawn with, sent as one file.

The parts stay small files to read and to edit; a browser asks once instead of a dozen times before it can
paint. The address names the content, so a browser that has it never asks again.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_safe

YEAR_S = 31_536_000
# Comments, indentation and empty lines: a browser needs none of them.
FOR_PEOPLE = re.compile(r"/\*.*?\*/|^\s+", re.DOTALL | re.MULTILINE)
EVERY_PAGE = ("tokens", "base", "components/frame", "components/controls")
TELLING = ("components/contents", "components/telling", "components/sample")
BUNDLES: Mapping[str, tuple[str, ...]] = {
    "error": (*EVERY_PAGE, "pages/error"),
    "catalogue": (
        *EVERY_PAGE,
        *("components/code", "components/reading", *TELLING),
        "pages/catalogue",
    ),
    "guide": (*EVERY_PAGE, "components/code", *TELLING, "pages/guide"),
    "account": (
        *EVERY_PAGE,
        *("components/code", "components/forms", *TELLING, "components/track"),
        "pages/account",
    ),
    "verify": (
        *EVERY_PAGE,
        *("components/code", "components/reading", "components/receipt", "components/track"),
        "pages/verify",
    ),
    "home": (
        *EVERY_PAGE,
        *("components/board", "components/code", "components/drawing", "components/reading"),
        *("components/receipt", *TELLING, "components/track"),
        *("pages/home", "pages/lanzar", "pages/module"),
    ),
    "workspace": (
        *EVERY_PAGE,
        *("components/code", "components/forms", "components/reading", "components/tables"),
        *("components/track", "pages/workspace"),
    ),
    "board": (
        *EVERY_PAGE,
        *("components/board", "components/code", "components/forms", "components/graphs"),
        *("components/lists", "components/lists-narrow", "components/reading"),
        *("components/tables", "components/track"),
        *("pages/workspace", "pages/board", "pages/resource"),
    ),
    "records": (
        *EVERY_PAGE,
        *("components/code", "components/forms", "components/reading", "components/tables"),
        *("components/track", "components/trust", "pages/workspace", "pages/records"),
    ),
    # Of parts of the module page that are fetched when they are first used.
    "scenarios": ("components/scenarios", "components/crowd"),
    "history": ("components/history",),
    "help": ("components/help",),
    "gallery": (
        *EVERY_PAGE,
        *("components/board", "components/code", "components/drawing", "components/forms"),
        *("components/reading", "components/receipt", "components/tables"),
        *(*TELLING, "components/track", "components/trust"),
        *("pages/error", "pages/lanzar", "pages/gallery"),
    ),
}


def addresses() -> dict[str, str]:
    """The address of each bundle, by its name."""
    return {name: f"{reverse('styles', args=[name])}?v={_version(name)}" for name in BUNDLES}


def urlpatterns() -> list[URLPattern]:
    """Where bundles are served."""
    return [path("css/<slug:name>.css", bundle, name="styles")]


@require_safe
def bundle(request: HttpRequest, name: str) -> HttpResponse:
    """A bundle; for good if it is asked for by its version."""
    if name not in BUNDLES:
        raise Http404("no such stylesheet")
    answer = HttpResponse(_content(name), content_type="text/css; charset=utf-8")
    known = request.GET.get("v") == _version(name)
    answer["Cache-Control"] = f"public, max-age={YEAR_S}, immutable" if known else "no-cache"
    return answer


def _content(name: str) -> str:
    if settings.DEBUG:  # what is being edited is seen at the next reload
        _read.cache_clear()
    return _read(name)


@cache
def _read(name: str) -> str:
    found = (finders.find(f"css/{sheet}.css") for sheet in BUNDLES[name])
    whole = "\n".join(Path(str(file)).read_text("utf-8") for file in found)
    return FOR_PEOPLE.sub("", whole)


def _version(name: str) -> str:
    return hashlib.sha256(_content(name).encode()).hexdigest()[:12]
