"""The platform as Django applications: its commands, and its branded admin."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig


class PlatformConfig(AppConfig):
    """Holds the platform's management commands. It has no models."""

    name = "intramedial"
    verbose_name = "Intramedial"


class AdminConfig(DjangoAdminConfig):
    """Django's admin with `intramedial.web.admin_site.Site` as its default site."""

    default_site = "intramedial.web.admin_site.Site"
