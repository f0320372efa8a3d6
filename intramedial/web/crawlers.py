"""The files that programs look for on any site: robots.txt, sitemap.xml, llms.txt, favicon.ico."""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import URLPattern, path, reverse
from django.utils.translation import override
from django.views.decorators.http import require_safe

TEXT = "text/plain; charset=utf-8"
# A page: its URL name and arguments.
Page = tuple[str, tuple[str, ...]]


def urlpatterns(pages: Sequence[Page], account: Callable[[], dict[str, Any]]) -> list[URLPattern]:
    """The addresses of the files. `pages` are those of the sitemap; `account` gives the context of llms.txt,
    which is in English."""

    @require_safe
    def sitemap(request: HttpRequest) -> HttpResponse:
        """All pages in all languages; each names its other languages."""
        context = {"pages": [_addresses(page) for page in pages]}
        return render(request, "sitemap.xml", context, content_type="application/xml; charset=utf-8")

    @require_safe
    def llms(request: HttpRequest) -> HttpResponse:
        """A description of the API for language models."""
        with override("en"):
            return render(request, "llms.txt", account(), content_type=TEXT)

    return [
        path("robots.txt", robots, name="robots"),
        path("sitemap.xml", sitemap, name="sitemap"),
        path("llms.txt", llms, name="llms"),
        path("favicon.ico", favicon, name="favicon"),
    ]


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon, for pages that name none: the admin, and files opened directly."""
    return redirect(static("img/favicon.svg"))


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Crawlers may read everything but the admin and the API, which needs credentials."""
    sitemap = f"Sitemap: {settings.BASE_URL}/sitemap.xml"
    lines = ("User-agent: *", "Disallow: /admin/", "Disallow: /api/", sitemap)
    return HttpResponse("\n".join(lines) + "\n", content_type=TEXT)


def _addresses(page: Page) -> dict[str, str]:
    name, arguments = page
    found = {}
    for code, _name in settings.LANGUAGES:
        with override(code):
            found[code] = settings.BASE_URL + reverse(name, args=arguments)
    return found
