"""The ledger in the admin: administrators can read and verify entries, but not change them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from intramedial.ledger.models import Entry
from intramedial.receipts import signing
from intramedial.receipts.receipt import claims_of, header_of, read_receipt, resource_of
from intramedial.templatetags.dids import brief
from intramedial.web.admin_search import IndexedAdmin, Way
from intramedial.web.pretty_json import pretty

AT_ONCE = 50
"""How many entries are verified at once."""


@dataclass(frozen=True)
class Check:
    """One check of an entry: what is checked, whether it holds, and what was found, in Spanish."""

    what: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Checked:
    """An entry with its checks."""

    entry: Entry
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all checks hold."""
        return all(check.holds for check in self.checks)


def check(entries: Iterable[Entry]) -> list[Checked]:
    """Check a few entries: signature, published key, what is signed, place in the log."""
    listed = list(entries)
    last = Entry.objects.values_list("index", flat=True).first() or 0
    beside = {entry.index + step for entry in listed for step in (-1, 1)}
    there = set(Entry.objects.filter(index__in=beside).values_list("index", flat=True))
    return [Checked(entry, (*_contents(entry), _place(entry, there, last))) for entry in listed]


def _contents(entry: Entry) -> tuple[Check, ...]:
    if not entry.leaf and entry.leaf_hash:
        return (Check("Contenido", True, "borrado con la prueba de la que era; queda su huella"),)
    return _signature(entry), _key(entry), _same(entry)


def _signature(entry: Entry) -> Check:
    try:
        read_receipt(entry.leaf)
    except ValueError:
        return Check("Firma", False, "no corresponde a lo firmado")
    return Check("Firma", True, "Ed25519, corresponde a lo firmado")


def _key(entry: Entry) -> Check:
    kid = str(header_of(entry.leaf).get("kid", ""))
    try:
        signer = signing.by_kid(kid)
    except KeyError:
        return Check("Clave publicada", False, f"{kid[:64] or 'ninguna'}: no es de este servicio")
    since = datetime.fromtimestamp(signer.signs_from, UTC)
    return Check(
        "Clave publicada", True, f"{kid}, firma desde {since:%Y-%m-%d %H:%M}" if signer.signs_from else kid
    )


def _same(entry: Entry) -> Check:
    claims = claims_of(entry.leaf)
    same = (claims.get("jti"), claims.get("workspace")) == (entry.receipt_id, entry.workspace)
    found = "dice lo mismo que la anotación" if same else "es de otro número o de otro espacio"
    return Check("Recibo", same, found)


def _place(entry: Entry, there: set[int], last: int) -> Check:
    missing = [
        str(index)
        for index, needed in ((entry.index - 1, entry.index > 0), (entry.index + 1, entry.index < last))
        if needed and index not in there
    ]
    found = f"anotación {entry.index} de {last + 1}"
    return Check("Libro", not missing, f"{found}; falta la {' y la '.join(missing)}" if missing else found)


@admin.register(Entry)
class EntryAdmin(IndexedAdmin):
    """The entries of the log, the latest first."""

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
        """The outcome of the answer."""
        return str(claims_of(entry.leaf).get("outcome", ""))

    @admin.display(description="agente")
    def agent(self, entry: Entry) -> SafeString:
        """The agent that asked or whose lease ended."""
        did = str(claims_of(entry.leaf).get("sub", ""))
        return format_html('<bdi title="{}">{}</bdi>', did, brief(did))

    @admin.display(description="recurso")
    def resource(self, entry: Entry) -> str:
        """The resource that the receipt is about."""
        return resource_of(claims_of(entry.leaf))

    @admin.display(description="anotado")
    def at(self, entry: Entry) -> str:
        """When it was appended, to the second, in UTC."""
        return f"{entry.appended_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="lo que dice")
    def says(self, entry: Entry) -> str:
        """The claims, as readable text."""
        return pretty(claims_of(entry.leaf))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list, with the state of the whole log above it."""
        last = Entry.objects.order_by("-index").first()
        state = {"last": last, "size": 0 if last is None else last.index + 1, "kid": signing.current().kid}
        return super().changelist_view(request, {**(extra_context or {}), **state})

    @admin.action(description="Verificar", permissions=["view"])
    def verify(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse:
        """Check the chosen entries."""
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
