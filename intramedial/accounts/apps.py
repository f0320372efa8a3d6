"""Accounts and the beta gate."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users and beta passwords."""

    name = "intramedial.accounts"
    verbose_name = "Cuentas y beta"

    def ready(self) -> None:
        """Listen to what the audit log is to hear."""
        from intramedial.accounts import audit_signals  # noqa: F401 (its receivers are there once it is)
