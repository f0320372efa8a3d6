"""Where the pages of workspaces are."""

from django.urls import path

from intramedial.workspaces.pages import home

urlpatterns = [
    path("espacios/", home.workspaces, name="workspaces"),
    path("espacios/<str:workspace>/", home.workspace, name="workspace"),
]
