"""The authority's tables in the admin, read-only: only the authority writes them.

A lease can be revoked, which the authority decides (`api/revoke.py`). Lease ids are secrets of their holders
and are not shown.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from coordination import models
from coordination.api.revoke import NotRevoked, RevokeForm, held, revoke
from intramedial.templatetags.dids import brief
from intramedial.web.admin_search import IndexedAdmin, Way
from intramedial.web.admin_site import RecordAdmin

OF_RESOURCES = (
    Way(("workspace",), ("workspace", "name")),
    Way(("workspace", "resource"), ("workspace", "name")),
)
OF_LEASES = (
    Way(("workspace",), ("workspace", "resource", "token")),
    Way(("workspace", "resource"), ("workspace", "resource", "token")),
    Way(("agent",), ("agent", "workspace", "resource")),
    Way(("workspace", "agent"), ("agent", "workspace", "resource")),
    Way(("lease_id",), ("lease_id",)),
)
OF_WAITS = (
    Way(("workspace",), ("workspace", "resource", "agent")),
    Way(("workspace", "resource"), ("workspace", "resource", "agent")),
    Way(("agent",), ("agent", "workspace", "resource")),
    Way(("workspace", "agent"), ("agent", "workspace", "resource")),
)
OF_REFUSALS = OF_WAITS[:2]
OF_AGENTS = (
    Way(("workspace",), ("workspace", "did")),
    Way(("workspace", "agent"), ("workspace", "did")),
)
OF_TRUST = (
    Way(("workspace",), ("-workspace", "-id")),
    Way(("lease_id",), ("lease_id",)),
)


def instant(field: str, heading: str) -> Callable[[Model], str]:
    """A column that shows an instant, stored in milliseconds since the Unix epoch, to the second and in UTC.

    It returns an empty text for a missing instant, which the admin shows as a dash.
    """

    def column(row: Model) -> str:
        value = getattr(row, field)
        return "" if value is None else f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M:%S}"

    return admin.display(column, description=heading)


def named(field: str, heading: str) -> Callable[[Model], SafeString]:
    """A column that shows a DID shortened in the middle, with the whole DID as tooltip."""

    def column(row: Model) -> SafeString:
        whole = getattr(row, field)
        return format_html('<bdi title="{}">{}</bdi>', whole, brief(whole))

    return admin.display(column, description=heading)


def tenths(field: str, heading: str) -> Callable[[Model], str]:
    """A column that shows trust, which is stored in tenths."""

    def column(row: Model) -> str:
        return f"{getattr(row, field) / 10:.1f}"

    return admin.display(column, description=heading)


@admin.register(models.ResourceRow)
class ResourceAdmin(IndexedAdmin):
    """Resources and their token counters."""

    list_display = ("name", "workspace", "last_token", "contended", instant("used_at", "último uso"))
    fields_of: ClassVar = {"resource": "name"}
    ways = OF_RESOURCES


@admin.register(models.LeaseRow)
class LeaseAdmin(IndexedAdmin):
    """Leases. An expired one stays here until the authority reclaims it."""

    list_display = (
        "resource",
        "workspace",
        named("agent", "agente"),
        "mode",
        "token",
        instant("acquired_at", "concedido"),
        instant("expires_at", "caduca"),
        "end",
    )
    list_display_links = None
    fields = ("workspace", "resource", "agent", "mode", "token", "acquired_at", "expires_at")
    ways = OF_LEASES

    def get_list_display(self, request: HttpRequest) -> Any:
        """The columns, without the link that ends a lease for those that may not."""
        shown = super().get_list_display(request)
        return shown if self.may_end(request) else shown[:-1]

    def may_end(self, request: HttpRequest) -> bool:
        """Whether the person may end leases: has Django's permission to delete them."""
        return request.user.has_perm("coordination.delete_leaserow")

    @admin.display(description="revocar")
    def end(self, row: models.LeaseRow) -> SafeString:
        """A link to the page that ends the lease."""
        query = urlencode({"espacio": row.workspace, "recurso": row.resource, "agente": row.agent})
        return format_html('<a href="terminar/?{}">Revocar…</a>', query)

    def get_urls(self) -> list[URLPattern]:
        """The usual addresses, and the page that ends a lease."""
        ending = self.admin_site.admin_view(self.end_view)
        return [path("terminar/", ending, name="coordination_leaserow_end"), *super().get_urls()]

    def end_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for the reason, say what follows, and have the authority end the lease."""
        if not self.may_end(request):
            raise PermissionDenied
        workspace, resource, agent = (request.GET.get(name, "") for name in ("espacio", "recurso", "agente"))
        back = HttpResponseRedirect(
            f"{reverse('admin:coordination_leaserow_changelist')}?{urlencode({'q': workspace})}"
        )
        try:
            lease = held(workspace, resource, agent)
            if lease is None:
                self.message_user(request, "Esa concesión ya había terminado.", messages.WARNING)
                return back
            form = RevokeForm(request.POST or None, resource=resource, initial={"token": lease.token})
            if request.method == "POST" and form.is_valid():
                asked = form.cleaned_data
                revoke(request, workspace, resource, agent, asked["token"], asked["reason"])
                self.message_user(request, f"La concesión de {resource} está revocada.", messages.SUCCESS)
                return back
        except NotRevoked as fault:
            self.message_user(request, str(fault), messages.ERROR)
            return back
        context = {
            **self.admin_site.each_context(request),
            "title": "Revocar una concesión",
            "opts": self.opts,
            "form": form,
            "lease": lease,
            "expires_at": datetime.fromtimestamp(lease.expires_at / 1000, UTC),
            "workspace": workspace,
            "resource": resource,
        }
        return TemplateResponse(request, "admin/coordination/leaserow/end.html", context)


@admin.register(models.WaitRow)
class WaitAdmin(IndexedAdmin):
    """Places in queues."""

    list_display = (
        "resource",
        "workspace",
        named("agent", "agente"),
        "mode",
        instant("since", "desde"),
        instant("asked_at", "preguntó"),
        instant("offered_at", "ofrecido"),
    )
    ways = OF_WAITS


@admin.register(models.RefusalRow)
class RefusalAdmin(IndexedAdmin):
    """Deadlock refusals that the authority remembers."""

    list_display = (
        "resource",
        "workspace",
        named("agent", "agente"),
        named("holder", "titular"),
        "mode",
        instant("at", "cuándo"),
    )
    ways = OF_REFUSALS


@admin.register(models.AgentRow)
class AgentAdmin(IndexedAdmin):
    """Agents and their trust."""

    list_display = ("did", "workspace", tenths("score", "confianza"), "releases", "expiries")
    fields_of: ClassVar = {"agent": "did"}
    ways = OF_AGENTS


@admin.register(models.TrustMoveRow)
class TrustMoveAdmin(IndexedAdmin):
    """Moves of the agents' trust."""

    list_display = (
        named("agent", "agente"),
        "workspace",
        tenths("delta", "cambio"),
        tenths("score", "queda en"),
        instant("at", "cuándo"),
    )
    fields = ("workspace", "agent", "delta", "score", "at")
    ways = OF_TRUST


@admin.register(models.TenantRow)
class TenantAdmin(IndexedAdmin):
    """What the authority counts in each workspace."""

    list_display = ("workspace", "active", "token_floor")
    ways = (Way(("workspace",), ("workspace",)),)


@admin.register(models.OutboxRow)
class OutboxAdmin(IndexedAdmin):
    """Receipts that wait for the ledger, the oldest first, which shows what is stuck."""

    list_display = ("receipt_id", "workspace", "kid")
    fields = ("receipt_id", "workspace", "kid")
    order = ("pk",)
    ways = (Way(("receipt_id",), ("receipt_id",)),)


@admin.register(models.PulseRow)
class PulseAdmin(RecordAdmin):
    """The last pulse of each process."""

    list_display = ("process", instant("at", "cuándo"))


@admin.register(models.OutageRow)
class OutageAdmin(RecordAdmin):
    """Outages: times in which no authority ran."""

    list_display = (instant("since", "desde"), instant("until", "hasta"))


@admin.register(models.DatabaseRow)
class DatabaseAdmin(RecordAdmin):
    """The identity of the database of leases, and its last restore."""

    list_display = ("database_id", "token_floor", instant("restored_at", "restaurada"), "why")
