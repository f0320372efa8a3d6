"""Accounts and the beta gate."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users and beta passwords."""

    name = "intramedial.accounts"
    verbose_name = "Cuentas y beta"

    def ready(self) -> None:
        """Connect the receivers that write to the audit log."""
        from intramedial.accounts import audit_signals  # noqa: F401 (importing it connects its receivers)
