"""The authority's tables in the admin: to look at. Only the authority writes them, so nothing here does."""

from collections.abc import Callable
from datetime import UTC, datetime

from django.contrib import admin
from django.db.models import Model

from coordination import models
from intramedial.admin_site import RecordAdmin


def instant(field: str, heading: str) -> Callable[[Model], datetime | None]:
    """A column that shows an instant kept in milliseconds since the Unix epoch."""

    def column(row: Model) -> datetime | None:
        value = getattr(row, field)
        return None if value is None else datetime.fromtimestamp(value / 1000, UTC)

    return admin.display(column, description=heading, ordering=field)


def tenths(field: str, heading: str) -> Callable[[Model], str]:
    """A column that shows trust kept in tenths."""

    def column(row: Model) -> str:
        return f"{getattr(row, field) / 10:.1f}"

    return admin.display(column, description=heading, ordering=field)


# Searches are for whole names: a part of a name would be looked for in every row.


@admin.register(models.ResourceRow)
class ResourceAdmin(RecordAdmin):
    """Resources and their token counters."""

    list_display = ("name", "workspace", "last_token", "contended", instant("used_at", "último uso"))
    search_fields = ("workspace__exact", "name__exact")


@admin.register(models.LeaseRow)
class LeaseAdmin(RecordAdmin):
    """Leases. One that has run out stays here until somebody, or the alarm, notices."""

    list_display = (
        "resource",
        "workspace",
        "agent",
        "mode",
        "token",
        instant("acquired_at", "concedido"),
        instant("expires_at", "caduca"),
    )
    list_filter = ("mode",)
    search_fields = ("workspace__exact", "resource__exact", "agent__exact", "lease_id__exact")


@admin.register(models.WaitRow)
class WaitAdmin(RecordAdmin):
    """Places in queues."""

    list_display = (
        "resource",
        "workspace",
        "agent",
        "mode",
        instant("since", "desde"),
        instant("asked_at", "preguntó"),
        instant("offered_at", "ofrecido"),
    )
    list_filter = ("mode",)
    search_fields = ("workspace__exact", "resource__exact", "agent__exact")


@admin.register(models.RefusalRow)
class RefusalAdmin(RecordAdmin):
    """Deadlocks refused and remembered."""

    list_display = ("resource", "workspace", "agent", "holder", "mode", instant("at", "cuándo"))
    search_fields = ("workspace__exact", "resource__exact", "agent__exact")


@admin.register(models.AgentRow)
class AgentAdmin(RecordAdmin):
    """Agents and their trust."""

    list_display = ("did", "workspace", tenths("score", "confianza"), "releases", "expiries")
    search_fields = ("workspace__exact", "did__exact")


@admin.register(models.TrustMoveRow)
class TrustMoveAdmin(RecordAdmin):
    """What moved an agent's trust."""

    list_display = (
        "agent",
        "workspace",
        tenths("delta", "cambio"),
        tenths("score", "queda en"),
        "lease_id",
        instant("at", "cuándo"),
    )
    search_fields = ("workspace__exact", "agent__exact", "lease_id__exact")


@admin.register(models.TenantRow)
class TenantAdmin(RecordAdmin):
    """What the authority counts of each workspace."""

    list_display = ("workspace", "active", "token_floor")
    search_fields = ("workspace__exact",)


@admin.register(models.OutboxRow)
class OutboxAdmin(RecordAdmin):
    """What waits to be written to the ledger."""

    list_display = ("receipt_id", "workspace", "kid")
    search_fields = ("workspace__exact", "receipt_id__exact")


@admin.register(models.PulseRow)
class PulseAdmin(RecordAdmin):
    """When each process of the authority was last well."""

    list_display = ("process", instant("at", "cuándo"))


@admin.register(models.OutageRow)
class OutageAdmin(RecordAdmin):
    """Times in which no process ran."""

    list_display = (instant("since", "desde"), instant("until", "hasta"))
