"""Accounts and the beta gate."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users and beta passwords."""

    name = "intramedial.accounts"
    verbose_name = "Cuentas y beta"
