"""The admin's site, Intramedial's name on it, in Spanish; and what the admins of its models share."""

from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.http import HttpRequest


class Site(AdminSite):
    """The one admin site, at /admin/."""

    site_title = "Intramedial"
    site_header = "Intramedial · administración"
    index_title = "Qué hay"
    site_url = "/"


class LargeTableAdmin(ModelAdmin):
    """A list that stays quick with a million rows: the whole table is not counted beside what was found."""

    show_full_result_count = False
    list_per_page = 50


class RecordAdmin(LargeTableAdmin):
    """Rows that the service alone writes: to look at, never to change."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Made by the service alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Changed by the service alone."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Deleted by the service alone."""
        return False
