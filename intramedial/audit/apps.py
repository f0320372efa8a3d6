"""The audit log."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """What people and operators did."""

    name = "intramedial.audit"
    verbose_name = "Auditoría"
