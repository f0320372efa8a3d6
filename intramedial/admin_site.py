"""The admin's site: Intramedial's name on it, in Spanish."""

from django.contrib.admin import AdminSite


class Site(AdminSite):
    """The one admin site, at /admin/."""

    site_title = "Intramedial"
    site_header = "Intramedial · administración"
    index_title = "Qué hay"
    site_url = "/"
