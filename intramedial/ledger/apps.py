"""The ledger as a Django application."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """The append-only log of receipts, on the database alias `ledger`."""

    name = "intramedial.ledger"
    label = "ledger"
    verbose_name = "Libro"
