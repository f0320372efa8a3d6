"""Workspaces, API keys, agents and trials in the admin. A new API key's secret is shown once."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from intramedial.identity.did import check_did
from intramedial.web.admin_site import LargeTableAdmin, RecordAdmin, SelectsRows
from intramedial.workspaces import keys, names, provision
from intramedial.workspaces.models import (
    ApiKey,
    Invitation,
    Membership,
    Nonce,
    RegisteredAgent,
    Ticket,
    Trial,
    TrialAgent,
    Workspace,
)


class MembershipInline(SelectsRows, admin.TabularInline):
    """The members of a workspace."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


class WorkspaceForm(forms.ModelForm):
    """The changeable fields of a workspace."""

    def clean_name(self) -> str:
        """A name by the rules of `names.normal`, as on the pages."""
        return names.normal(self.cleaned_data["name"])

    def clean_semantic_classes(self) -> dict[str, str]:
        """The classes; an empty object for an empty field and for null."""
        return self.cleaned_data["semantic_classes"] or {}


@admin.register(Workspace)
class WorkspaceAdmin(LargeTableAdmin):
    """Workspaces."""

    form = WorkspaceForm
    list_display = ("public_id", "name", "is_trial", "created_at")
    list_filter = (("trial", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("trial",)
    search_fields = ("public_id", "name")
    ordering = ("-created_at",)
    fields = ("public_id", "name", "semantic_classes", "created_at")
    readonly_fields = ("public_id", "created_at")
    inlines = (MembershipInline,)

    @admin.display(description="de prueba", boolean=True)
    def is_trial(self, workspace: Workspace) -> bool:
        """True for the workspace of a trial."""
        return hasattr(workspace, "trial")


@admin.register(Membership)
class MembershipAdmin(LargeTableAdmin):
    """Members of workspaces."""

    list_display = ("user", "workspace", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "workspace")
    search_fields = ("user__email", "workspace__public_id", "workspace__name")
    autocomplete_fields = ("user", "workspace")
    readonly_fields = ("created_at",)


@admin.register(Invitation)
class InvitationAdmin(RecordAdmin):
    """Open invitations."""

    list_display = ("email", "workspace", "role", "created_at", "expires_at")
    list_select_related = ("workspace",)
    search_fields = ("email", "workspace__public_id")


class DidForm(forms.ModelForm):
    """A form with a DID, which is checked."""

    def _did(self, name: str) -> str | None:
        value = self.cleaned_data.get(name)
        if not value:
            return None
        try:
            return check_did(value)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_actor_did(self) -> str | None:
        """The agent of a key; None for an empty field."""
        return self._did("actor_did")

    def clean_did(self) -> str | None:
        """The DID of an agent."""
        return self._did("did")


class ApiKeyForm(DidForm):
    """A new API key, or the changeable fields of an existing one."""

    def clean_workspace(self) -> Workspace:
        """The workspace. ValidationError if it has as many keys in force as it may have."""
        workspace: Workspace = self.cleaned_data["workspace"]
        if not provision.has_room(workspace):
            raise forms.ValidationError(
                "El espacio tiene ya todas las claves que puede tener: revoca alguna."
            )
        return workspace


@admin.register(ApiKey)
class ApiKeyAdmin(LargeTableAdmin):
    """API keys, named by their prefix. The message after saving a new key shows its secret once."""

    form = ApiKeyForm
    list_display = (
        "prefix",
        "label",
        "workspace",
        "actor_did",
        "read_only",
        "last_used_at",
        "expires_at",
        "state",
    )
    list_filter = (
        ("revoked_at", admin.EmptyFieldListFilter),
        "read_only",
        ("actor_did", admin.EmptyFieldListFilter),
    )
    list_select_related = ("workspace",)
    search_fields = ("prefix__startswith", "label", "workspace__public_id__exact", "actor_did__exact")
    ordering = ("-created_at",)
    autocomplete_fields = ("workspace",)
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The fields, without the hash."""
        settable = ("workspace", "actor_did", "read_only", "label", "expires_at")
        return settable if obj is None else ("prefix", *settable, "created_at", "last_used_at", "revoked_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The read-only fields: what a key may do does not change after it was made."""
        if obj is None:
            return ()
        return ("prefix", "workspace", "actor_did", "read_only", "created_at", "last_used_at", "revoked_at")

    @admin.display(description="estado")
    def state(self, key: ApiKey) -> str:
        """Whether the key is in force, expired or revoked."""
        if key.revoked_at:
            return "revocada"
        return "caducada" if key.expires_at and key.expires_at <= timezone.now() else "en vigor"

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Save; make the secret of a new key and show it."""
        if not change:
            new = keys.make_key()
            obj.prefix, obj.sha256 = new.prefix, new.sha256
            self.message_user(
                request, f"Clave de API, que no se volverá a mostrar: {new.secret}", messages.WARNING
            )
        super().save_model(request, obj, form, change)

    @admin.action(description="Revocar las seleccionadas", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke the selected keys that are not revoked yet."""
        with transaction.atomic():
            chosen = list(queryset.filter(revoked_at=None).select_related("workspace"))
            queryset.filter(revoked_at=None).update(revoked_at=timezone.now())
            self.audit(request, "revoked", chosen)
        self.message_user(request, f"Revocadas: {len(chosen)}.", messages.SUCCESS)


@admin.register(RegisteredAgent)
class RegisteredAgentAdmin(LargeTableAdmin):
    """Agents that may sign requests in a workspace."""

    form = DidForm
    list_display = ("did", "workspace", "registered_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("workspace",)
    search_fields = ("did__exact", "workspace__public_id__exact")
    autocomplete_fields = ("workspace",)
    readonly_fields = ("registered_at",)


class TrialAgentInline(admin.TabularInline):
    """The further agents of a trial."""

    model = TrialAgent
    extra = 0
    readonly_fields = ("did", "created_at")
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: an agent must prove that it has its signing key, which the admin cannot do."""
        return False


@admin.register(Trial)
class TrialAdmin(LargeTableAdmin):
    """Trials. Their number of calls and their end can be changed."""

    list_display = ("did", "workspace", "calls_used", "calls_limit", "expires_at", "created_at")
    list_filter = ("expires_at",)
    list_select_related = ("workspace",)
    search_fields = ("did__exact", "workspace__public_id__exact")
    ordering = ("-created_at",)
    fields = ("did", "workspace", "calls_used", "calls_limit", "expires_at", "created_at")
    readonly_fields = ("did", "workspace", "calls_used", "created_at")
    inlines = (TrialAgentInline,)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: a trial begins with a request signed by its key."""
        return False


@admin.register(TrialAgent)
class TrialAgentAdmin(RecordAdmin):
    """Further agents of trials."""

    list_display = ("did", "trial", "created_at")
    list_select_related = ("trial",)
    search_fields = ("did__exact", "trial__did__exact")


@admin.register(Nonce)
class NonceAdmin(RecordAdmin):
    """Nonces of signed requests that were seen."""

    list_display = ("key_and_nonce", "expires_at")
    search_fields = ("key_and_nonce__exact",)
    ordering = ("-expires_at",)


@admin.register(Ticket)
class TicketAdmin(RecordAdmin):
    """Tickets for live sockets that are not used yet."""

    list_display = ("workspace", "expires_at")
    search_fields = ("workspace__exact",)
    ordering = ("-expires_at",)
