"""Where the pages of workspaces are."""

from django.urls import URLPattern, include, path

from intramedial.workspaces.pages import api_keys, home

# Below /espacios/<ws_…>/.
OF_ONE: list[URLPattern] = [
    path("", home.workspace, name="workspace"),
    path("claves/", api_keys.api_keys, name="keys"),
    path("claves/<str:prefix>/rotar/", api_keys.rotate, name="key_rotate"),
    path("claves/<str:prefix>/revocar/", api_keys.revoke, name="key_revoke"),
]

urlpatterns = [
    path("espacios/", home.workspaces, name="workspaces"),
    path("espacios/<str:workspace>/", include(OF_ONE)),
]
