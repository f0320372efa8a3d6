"""Workspaces, their keys and agents, and trials."""

from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    """The tenants and who may act in them."""

    name = "intramedial.workspaces"
    verbose_name = "Espacios"
