"""Where a page's request goes. The JSON API, its description and the health checks: see asgi.py."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    *i18n_patterns(
        path("", include("intramedial.pages")),
        path("", include("coordination.views")),
        prefix_default_language=False,
    ),
]
