"""The ledger in the admin: to look at and to verify, never to change."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from intramedial.ledger.checks import check
from intramedial.ledger.models import Entry
from intramedial.receipts import signing
from intramedial.receipts.contents import claims_of, resource_of
from intramedial.templatetags.dids import brief
from intramedial.web.admin_search import IndexedAdmin, Way
from intramedial.web.pretty_json import pretty

AT_ONCE = 50


@admin.register(Entry)
class EntryAdmin(IndexedAdmin):
    """The log's entries, the latest first."""

    list_display = ("index", "receipt_id", "workspace", "outcome", "agent", "resource", "at")
    list_display_links = ("index", "receipt_id")
    fields = ("index", "receipt_id", "workspace", "appended_at", "says", "leaf")
    readonly_fields = ("says",)
    actions = ("verify",)
    ways = (
        Way(("receipt_id",), ("receipt_id",)),
        Way(("workspace",), ("-workspace", "-index")),
    )

    @admin.display(description="resultado")
    def outcome(self, entry: Entry) -> str:
        """What was answered."""
        return str(claims_of(entry.leaf).get("outcome", ""))

    @admin.display(description="agente")
    def agent(self, entry: Entry) -> SafeString:
        """Who asked, or whose lease ended."""
        did = str(claims_of(entry.leaf).get("sub", ""))
        return format_html('<bdi title="{}">{}</bdi>', did, brief(did))

    @admin.display(description="recurso")
    def resource(self, entry: Entry) -> str:
        """What it was about."""
        return resource_of(claims_of(entry.leaf))

    @admin.display(description="anotado")
    def at(self, entry: Entry) -> str:
        """When it was appended, to the second, in UTC."""
        return f"{entry.appended_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="lo que dice")
    def says(self, entry: Entry) -> str:
        """The claims, to read."""
        return pretty(claims_of(entry.leaf))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """With the state of the whole log above the list."""
        last = Entry.objects.order_by("-index").first()
        state = {"last": last, "size": 0 if last is None else last.index + 1, "kid": signing.current().kid}
        return super().changelist_view(request, {**(extra_context or {}), **state})

    @admin.action(description="Verificar", permissions=["view"])
    def verify(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse:
        """Check the chosen entries: signature, published key, what is signed, place in the log."""
        checked = check(queryset[:AT_ONCE])
        context = {
            **self.admin_site.each_context(request),
            "title": "Verificar recibos",
            "opts": self.opts,
            "checked": checked,
            "bad": sum(not entry.holds for entry in checked),
            "at_once": AT_ONCE,
        }
        return TemplateResponse(request, "admin/ledger/entry/verify.html", context)
