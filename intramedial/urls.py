"""Where a page's request goes. The JSON API, its description and the health checks: see asgi.py."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

from coordination.page import article
from coordination.page.figures import figures
from intramedial import crawlers, errors, styles
from intramedial.legal import urls as legal

handler400 = "intramedial.pages.bad_request"
handler403 = "intramedial.pages.forbidden"
handler404 = "intramedial.pages.not_found"
handler500 = "intramedial.pages.server_error"


def pages() -> list[crawlers.Page]:
    """The pages that are worth finding."""
    reasons = (("error", (entry.reason,)) for entry in article.reasons())
    entrance = ("access_request", "account_signup", "account_login")
    plain = ("home", "verify", "docs", "mcp", "live", "errors", *entrance, *legal.PAGES)
    return [*((name, ()) for name in plain), *reasons]


urlpatterns = [
    path("admin/", admin.site.urls),
    *crawlers.urlpatterns(pages(), article.plain),
    *styles.urlpatterns(),
    *i18n_patterns(
        path("", include("coordination.views")),
        path("", include("coordination.page.docs")),
        path("", include("coordination.page.clients")),
        path("", include("coordination.boards.urls")),
        *errors.urlpatterns(article.reasons(), figures),
        path("", include("intramedial.accounts.urls")),
        path("legal/", include("intramedial.legal.urls")),
        path("", include("intramedial.workspaces.urls")),
        path("", include("coordination.records.urls")),
        prefix_default_language=False,
    ),
]
