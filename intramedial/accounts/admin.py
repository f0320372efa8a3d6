"""Accounts and beta passwords in the admin. The only secret shown is a new beta password, once."""

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

# Sessions and authenticators hold secrets, so allauth's pages that show them are taken away.
admin.site.unregister([Group, EmailAddress, Authenticator, UserSession])


@admin.register(Group)
class AuditedGroupAdmin(AuditedAdmin, GroupAdmin):
    """Groups of permissions. Only administrators change them: others could make themselves administrators."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether the user is an administrator."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user is an administrator."""
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user is an administrator."""
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
        """The read-only fields; only administrators may write those that give permissions."""
        own = super().get_readonly_fields(request, obj)
        return own if request.user.is_superuser else (*own, *GIVE_PERMISSIONS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user may change accounts; accounts of staff only if the user is an administrator, since
        a changed password would give the other's permissions."""
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or not obj.is_staff or request.user.is_superuser)

    @admin.action(description="Desbloquear: olvidar los intentos de acceso", permissions=["change"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Forget the counted log-in tries of accounts, from all addresses."""
        with transaction.atomic():
            chosen = list(queryset)
            for user in chosen:
                throttle.unlock(user.email)
            self.audit(request, "unlocked", chosen)
        self.message_user(request, f"Desbloqueadas: {len(chosen)}.", messages.SUCCESS)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: the account's owner deletes it (`deletion.py`); the admin deactivates it."""
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
    """A new beta password; the service makes the secret."""

    expires_at = EndField()

    class Meta:
        model = BetaPassword
        fields = ("label", "max_uses", "expires_at")


class BetaPasswordChange(forms.ModelForm):
    """An existing beta password."""

    expires_at = EndField()

    def clean_max_uses(self) -> int | None:
        """The number of uses. ValidationError for fewer than were used already."""
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
        """The form of a new beta password or of an existing one."""
        kwargs["form"] = BetaPasswordCreation if obj is None else BetaPasswordChange
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The fields, without the hash."""
        settable = ("label", "max_uses", "expires_at")
        return settable if obj is None else ("prefix", *settable, "uses", "revoked_at", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The fields that only the service writes."""
        return () if obj is None else ("prefix", "uses", "revoked_at", "created_at")

    def save_model(self, request: HttpRequest, obj: BetaPassword, form: Any, change: bool) -> None:
        """Save; make the secret of a new beta password and show it."""
        if not change:
            secret = beta.assign_secret(obj)
            self.message_user(
                request, f"Contraseña de la beta, que no se volverá a mostrar: {secret}", messages.WARNING
            )
        super().save_model(request, obj, form, change)

    @admin.action(description="Revocar las seleccionadas", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[BetaPassword]) -> None:
        """Revoke the selected beta passwords that are not revoked yet."""
        with transaction.atomic():
            chosen = list(queryset.filter(revoked_at=None))
            queryset.filter(revoked_at=None).update(revoked_at=timezone.now())
            self.audit(request, "revoked", chosen)
        self.message_user(request, f"Revocadas: {len(chosen)}.", messages.SUCCESS)


@admin.register(BetaUse)
class BetaUseAdmin(RecordAdmin):
    """Uses of beta passwords, to read only."""

    list_display = ("user", "password", "kind", "used_at")
    list_select_related = ("user", "password")
    search_fields = ("user__email", "password__prefix", "password__label")
    ordering = ("-used_at",)


@admin.register(AccessRequest)
class AccessRequestAdmin(LargeTableAdmin):
    """Requests for access to the beta. The answer is a beta password, shown once, that the operator mails."""

    list_display = ("email", "name", "about", "language", "created_at", "answered_at")
    list_filter = (("answered_at", admin.EmptyFieldListFilter),)
    search_fields = ("email", "name")
    ordering = ("-created_at",)
    fields = ("email", "name", "about", "language", "created_at", "answered_at")
    readonly_fields = fields
    actions = ("answer",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: requests come from the page."""
        return False

    def has_answer_permission(self, request: HttpRequest) -> bool:
        """Whether the user may change requests and add beta passwords."""
        return self.has_change_permission(request) and request.user.has_perm("accounts.add_betapassword")

    @admin.action(description="Dar a cada una una contraseña de la beta, de un uso", permissions=["answer"])
    def answer(self, request: HttpRequest, queryset: QuerySet[AccessRequest]) -> HttpResponse:
        """Make a beta password for each unanswered request, mark it as answered, and show them once."""
        made = []
        with transaction.atomic():
            for pending in list(queryset.select_for_update().filter(answered_at=None)[:ANSWERED_AT_ONCE]):
                made.append((pending, beta.create(pending.email, max_uses=1)))
                AccessRequest.objects.filter(pk=pending.pk).update(answered_at=timezone.now())
                self.audit(request, "answered", [pending])
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
        """Always False: the account's owner adds it."""
        return False


@admin.register(Authenticator)
class AuthenticatorAdmin(LargeTableAdmin):
    """Second factors, without their secrets. An operator deletes one whose owner has lost it."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = ("user", "type", "created_at", "last_used_at")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: the account's owner adds it."""
        return False


@admin.register(Try)
class TryAdmin(RecordAdmin):
    """Counted tries of the last hour, each under a keyed hash."""

    list_display = ("of", "at")
    search_fields = ("of__exact",)
    ordering = ("-at",)


@admin.register(CacheEntry)
class CacheEntryAdmin(RecordAdmin):
    """Counters of allauth's rate limits, each under a keyed hash."""

    list_display = ("cache_key", "expires")
    fields = ("cache_key", "expires")
    search_fields = ("cache_key__exact",)
    ordering = ("-expires",)
