"""The URLs of the pages. asgi.py has those of the JSON API, its description and the health checks."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

from coordination.pages.module import article
from coordination.pages.module.figures import figures
from intramedial.legal import urls as legal
from intramedial.web import crawlers, errors

handler400 = "intramedial.web.pages.bad_request"
handler403 = "intramedial.web.pages.forbidden"
handler404 = "intramedial.web.pages.not_found"
handler500 = "intramedial.web.pages.server_error"


def pages() -> list[crawlers.Page]:
    """The pages that crawlers should find."""
    reasons = (("error", (entry.reason,)) for entry in article.reasons())
    entrance = ("access_request", "account_signup", "account_login")
    plain = ("home", "verify", "docs", "mcp", "live", "errors", *entrance, *legal.PAGES)
    return [*((name, ()) for name in plain), *reasons]


urlpatterns = [
    path("admin/", admin.site.urls),
    *crawlers.urlpatterns(pages(), article.plain),
    *i18n_patterns(
        path("", include("coordination.pages.module.views")),
        path("", include("coordination.pages.module.clients")),
        path("", include("coordination.pages.board.urls")),
        *errors.urlpatterns(article.reasons(), figures),
        path("", include("intramedial.accounts.urls")),
        path("legal/", include("intramedial.legal.urls")),
        path("", include("intramedial.workspaces.urls")),
        path("", include("coordination.pages.records.urls")),
        prefix_default_language=False,
    ),
]
