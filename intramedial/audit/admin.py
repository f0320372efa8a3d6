"""The audit log in the admin: to look at, never to change."""

from django.contrib import admin

from intramedial.audit.models import Entry
from intramedial.web.admin_search import IndexedAdmin, Way


@admin.register(Entry)
class EntryAdmin(IndexedAdmin):
    """Who did what, the latest first."""

    list_display = ("when", "action", "target", "workspace", "actor", "address", "detail")
    order = ("-pk",)
    ways = (Way(("workspace",), ("workspace", "-at")),)

    @admin.display(description="cuándo")
    def when(self, entry: Entry) -> str:
        """To the second, in UTC."""
        return f"{entry.at:%Y-%m-%d %H:%M:%S}"
