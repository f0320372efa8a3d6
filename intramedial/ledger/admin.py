"""The ledger in the admin: to look at and to verify, never to change."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from intramedial.ledger.models import Entry
from intramedial.receipts.checking import read_receipt

SHOWN_FAULTS = 10


@admin.register(Entry)
class EntryAdmin(admin.ModelAdmin):
    """Read-only list of the log's entries."""

    list_display = ("index", "receipt_id", "workspace", "appended_at")
    search_fields = ("=receipt_id", "=workspace")
    date_hierarchy = "appended_at"
    show_full_result_count = False
    actions = ("verify",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Entries come from the authority alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """An entry is never changed."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """An entry is never deleted."""
        return False

    @admin.action(description="Verificar las firmas de lo elegido", permissions=["view"])
    def verify(self, request: HttpRequest, queryset: QuerySet[Entry]) -> None:
        """Check the signature of each chosen entry and that it says what stands beside it."""
        faults = [f"{entry}: {fault}" for entry in queryset.iterator(500) if (fault := fault_of(entry))]
        for fault in faults[:SHOWN_FAULTS]:
            self.message_user(request, fault, messages.ERROR)
        if len(faults) > SHOWN_FAULTS:
            self.message_user(request, f"… y {len(faults) - SHOWN_FAULTS} más.", messages.ERROR)
        if not faults:
            self.message_user(
                request, f"Firmas correctas en las {queryset.count()} anotaciones elegidas.", messages.SUCCESS
            )


def fault_of(entry: Entry) -> str:
    """What is wrong with an entry, in Spanish; empty if nothing is."""
    try:
        claims = read_receipt(entry.leaf)
    except ValueError as error:
        return f"la firma no es válida ({error})"
    if (claims.get("jti"), claims.get("workspace")) != (entry.receipt_id, entry.workspace):
        return "el recibo firmado es de otro número o de otro espacio"
    return ""
