"""Accounts and beta passwords in the admin; no secret is ever shown but a new beta password, once."""

from datetime import datetime
from typing import Any

import allauth.account.admin
import allauth.mfa.admin
import allauth.usersessions.admin  # noqa: F401 (these three register what is unregistered here)
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from intramedial.accounts import beta, throttle
from intramedial.accounts.models import AccessRequest, BetaPassword, BetaUse, CacheEntry, Try, User
from intramedial.web.admin_site import AuditedAdmin, FirstRows, LargeTableAdmin, RecordAdmin

ANSWERED_AT_ONCE = 50
GIVE_PERMISSIONS = ("is_staff", "is_superuser", "groups", "user_permissions")

# Sessions hold what logs one in, authenticators what makes the codes: neither is for anybody to look at.
admin.site.unregister([Group, EmailAddress, Authenticator, UserSession])


@admin.register(Group)
class AuditedGroupAdmin(AuditedAdmin, GroupAdmin):
    """Groups of permissions: for administrators, since whoever changed theirs would be one."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Administrators alone."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Administrators alone."""
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Administrators alone."""
        return bool(request.user.is_superuser)


class UserCreation(AdminUserCreationForm):
    """Django's form, for accounts named by e-mail."""

    class Meta:
        model = User
        fields = ("email",)


class UserChange(UserChangeForm):
    """Django's form, for accounts named by e-mail."""

    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class AccountAdmin(AuditedAdmin, UserAdmin):
    """Accounts."""

    form = UserChange
    add_form = UserCreation
    list_display = ("email", "name", "is_staff", "is_active", "date_joined", "last_login")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("email", "name")
    ordering = ("email",)
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = FirstRows
    readonly_fields = ("last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("email", "password", "name")}),
        ("Permisos", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Fechas", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)
    actions = ("unlock",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What gives permissions is for administrators: whoever gave themselves one would be one."""
        own = super().get_readonly_fields(request, obj)
        return own if request.user.is_superuser else (*own, *GIVE_PERMISSIONS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Accounts that enter here are changed by administrators: with their password one would be them."""
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or not obj.is_staff or request.user.is_superuser)

    @admin.action(description="Desbloquear: olvidar los intentos de acceso", permissions=["change"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Forget the wrong log-in tries of accounts, from all addresses."""
        with transaction.atomic():
            chosen = list(queryset)
            for user in chosen:
                throttle.unlock(user.email)
            self.note(request, "unlocked", chosen)
        self.message_user(request, f"Desbloqueadas: {len(chosen)}.", messages.SUCCESS)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Deleted by their owners, with what is nobody else's (`deletion.py`); here they are deactivated."""
        return False


class EndField(forms.SplitDateTimeField):
    """A date and perhaps a time, both UTC; without a time it is the end of that day."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            label="caduca",
            required=False,
            require_all_fields=False,
            widget=AdminSplitDateTime(),
            help_text="UTC. Sin hora vale hasta el final de ese día; vacío: no caduca.",
            **options,
        )
        self.fields[1].required = False

    def compress(self, data_list: Any) -> datetime | None:
        """The instant."""
        if data_list and data_list[0] and not data_list[1]:
            return beta.end_of(data_list[0])
        found: datetime | None = super().compress(data_list)
        return found


class BetaPasswordCreation(forms.ModelForm):
    """What is said of a new beta password; the password itself is made here."""

    expires_at = EndField()

    class Meta:
        model = BetaPassword
        fields = ("label", "max_uses", "expires_at")


class BetaPasswordChange(forms.ModelForm):
    """What may be changed of one there is."""

    expires_at = EndField()

    def clean_max_uses(self) -> int | None:
        """No fewer than were used, which the database would refuse."""
        allowed: int | None = self.cleaned_data["max_uses"]
        if allowed is not None and allowed < self.instance.uses:
            raise forms.ValidationError(f"Ya se ha usado {self.instance.uses} veces: no pueden ser menos.")
        return allowed


@admin.register(BetaPassword)
class BetaPasswordAdmin(LargeTableAdmin):
    """Beta passwords: a new one is shown once, in the message after saving it."""

    list_display = ("prefix", "label", "uses", "max_uses", "expires_at", "revoked_at", "created_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "expires_at")
    search_fields = ("prefix", "label")
    ordering = ("-created_at",)
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """The form of a new one, or of one there is."""
        kwargs["form"] = BetaPasswordCreation if obj is None else BetaPasswordChange
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Never the hash."""
        asked = ("label", "max_uses", "expires_at")
        return asked if obj is None else ("prefix", *asked, "uses", "revoked_at", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """What only the service itself writes."""
        return () if obj is None else ("prefix", "uses", "revoked_at", "created_at")

    def save_model(self, request: HttpRequest, obj: BetaPassword, form: Any, change: bool) -> None:
        """Save; a new one gets its secret here."""
        if not change:
            secret = beta.assign_secret(obj)
            self.message_user(
                request, f"Contraseña de la beta, que no se volverá a mostrar: {secret}", messages.WARNING
            )
        super().save_model(request, obj, form, change)

    @admin.action(description="Revocar las seleccionadas", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[BetaPassword]) -> None:
        """Revoke those not revoked yet."""
        with transaction.atomic():
            chosen = list(queryset.filter(revoked_at=None))
            queryset.filter(revoked_at=None).update(revoked_at=timezone.now())
            self.note(request, "revoked", chosen)
        self.message_user(request, f"Revocadas: {len(chosen)}.", messages.SUCCESS)


@admin.register(BetaUse)
class BetaUseAdmin(RecordAdmin):
    """Who came in with which beta password; a record, so it can only be read."""

    list_display = ("user", "password", "kind", "used_at")
    list_select_related = ("user", "password")
    search_fields = ("user__email", "password__prefix", "password__label")
    ordering = ("-used_at",)


@admin.register(AccessRequest)
class AccessRequestAdmin(LargeTableAdmin):
    """Who asks for access to the beta; the answer is a beta password, shown once, to be sent by mail."""

    list_display = ("email", "name", "about", "language", "created_at", "answered_at")
    list_filter = (("answered_at", admin.EmptyFieldListFilter),)
    search_fields = ("email", "name")
    ordering = ("-created_at",)
    fields = ("email", "name", "about", "language", "created_at", "answered_at")
    readonly_fields = fields
    actions = ("answer",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Made by whoever asks."""
        return False

    def has_answer_permission(self, request: HttpRequest) -> bool:
        """Whoever may change requests and make beta passwords."""
        return self.has_change_permission(request) and request.user.has_perm("accounts.add_betapassword")

    @admin.action(description="Dar a cada una una contraseña de la beta, de un uso", permissions=["answer"])
    def answer(self, request: HttpRequest, queryset: QuerySet[AccessRequest]) -> HttpResponse:
        """Make a beta password for each that has none yet, mark it answered, and show them, this once."""
        made = []
        with transaction.atomic():
            for asked in list(queryset.select_for_update().filter(answered_at=None)[:ANSWERED_AT_ONCE]):
                made.append((asked, beta.create(asked.email, max_uses=1)))
                AccessRequest.objects.filter(pk=asked.pk).update(answered_at=timezone.now())
                self.note(request, "answered", [asked])
        context = {
            **self.admin_site.each_context(request),
            "title": "Contraseñas de la beta",
            "opts": self.opts,
            "made": made,
        }
        page = TemplateResponse(request, "admin/accounts/accessrequest/answered.html", context)
        page["Cache-Control"] = "private, no-store"
        return page


@admin.register(EmailAddress)
class EmailAddressAdmin(LargeTableAdmin):
    """Addresses of accounts, and whether they are confirmed."""

    list_display = ("email", "user", "primary", "verified")
    list_select_related = ("user",)
    search_fields = ("email",)
    fields = ("user", "email", "primary", "verified")
    readonly_fields = ("user", "email", "primary")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Made by its owner."""
        return False


@admin.register(Authenticator)
class AuthenticatorAdmin(LargeTableAdmin):
    """Second factors: deleted for somebody who has lost theirs. What makes the codes is not shown."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = ("user", "type", "created_at", "last_used_at")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Made by its owner."""
        return False


@admin.register(Try)
class TryAdmin(RecordAdmin):
    """What was tried in the last hour, by a hash of who."""

    list_display = ("of", "at")
    search_fields = ("of__exact",)
    ordering = ("-at",)


@admin.register(CacheEntry)
class CacheEntryAdmin(RecordAdmin):
    """Limits of allauth's pages, by a hash of who."""

    list_display = ("cache_key", "expires")
    fields = ("cache_key", "expires")
    search_fields = ("cache_key__exact",)
    ordering = ("-expires",)
