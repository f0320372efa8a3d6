"""Addresses of the live board, and of the guide to live sockets."""

from django.urls import path

from . import guide, resource, views

urlpatterns = [
    path("docs/panel/", guide.guide, name="live"),
    path("espacios/<str:workspace>/panel/", views.board, name="board"),
    path("espacios/<str:workspace>/panel/recurso/", resource.resource, name="board_resource"),
    path("espacios/<str:workspace>/panel/buscar.json", views.search, name="board_search"),
    path("espacios/<str:workspace>/panel/confianza.json", views.conduct, name="board_conduct"),
]
