"""The admin's site, Intramedial's name on it, in Spanish; and what the admins of its models share."""

from collections.abc import Iterable
from functools import wraps
from typing import Any, ClassVar

from django.contrib.admin import AdminSite, ModelAdmin, ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.widgets import AdminSplitDateTime, AutocompleteSelect
from django.contrib.auth import get_user_model
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import DateTimeField, Model, QuerySet
from django.forms import SplitDateTimeField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property

from intramedial.audit import record

AT_MOST = 1_000
"""Rows of a list that can be paged through: whoever looks for one further on searches for it."""

ORDER = ("accounts", "workspaces", "coordination", "ledger", "audit")
# Of other people's applications, which do not say it in Spanish, or say it as ours do.
NAMES = {
    "account": "Direcciones",
    "auth": "Permisos",
    "mfa": "Segundo factor",
    "Authenticator": "Segundos factores",
    "LeaseRow": "Concesiones",
}


NUL, LONGEST_KEY = "\0", 18
HASHES = ("hash", "sha256")
"""Columns of what is kept of secrets."""


class SplitDateTime(AdminSplitDateTime):
    """A date and a time, each with a name."""

    def __init__(self, attrs: Any = None) -> None:
        super().__init__(attrs)
        for widget, name in zip(self.widgets, ("Fecha", "Hora"), strict=True):
            widget.attrs["aria-label"] = name


class Site(AdminSite):
    """The one admin site, at /admin/."""

    site_title = "Intramedial"
    site_header = "Intramedial · administración"
    index_title = "Qué hay"
    site_url = "/"

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        """What there is, the most used first, and all of it in Spanish."""
        found: list[dict[str, Any]] = super().get_app_list(request, app_label)
        for app in found:
            app["name"] = NAMES.get(app["app_label"], app["name"])
            for model in app["models"]:
                model["name"] = NAMES.get(model["object_name"], model["name"])
        place = {label: at for at, label in enumerate(ORDER)}
        return sorted(found, key=lambda app: place.get(app["app_label"], len(ORDER)))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """A page, for what can be text in a database: what cannot is asked wrong, wherever it stands."""

        @wraps(view)
        def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            given = (request.GET, request.POST)
            texts = [text for part in given for _name, found in part.lists() for text in found]
            if any(NUL in text for text in (*texts, *map(str, kwargs.values()))):
                raise BadRequest("a NUL is in no text")
            return view(request, *args, **kwargs)

        return super().admin_view(asked, cacheable)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The log-in of everybody, with a beta password. 403 for a session that is not of the staff."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied
        index = reverse("admin:index", current_app=self.name)
        if request.user.is_authenticated:
            return redirect(index)
        return redirect_to_login(request.GET.get("next") or index, reverse("account_login"))

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Where everybody changes theirs."""
        return redirect("account_change_password")


class FirstRows(Paginator):
    """Pages over the first rows of a list, which is never counted further than that."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, or `AT_MOST` if there are more."""
        rows: Any = self.object_list
        return int(rows.order_by()[:AT_MOST].count())

    @property
    def is_full(self) -> bool:
        """Whether there may be more."""
        return self.count >= AT_MOST


class Chosen(AutocompleteSelect):
    """A row chosen of many. What can be the key of none, as a forged form has it, chooses none."""

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        """The row that is chosen."""
        known = [key for key in value if str(key).isdecimal() and len(str(key)) <= LONGEST_KEY]
        return super().optgroups(name, known, attr)


class ChoosesRows:
    """For an admin with `autocomplete_fields`, which are `Chosen`."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The field."""
        admin: Any = self
        if db_field.name in admin.get_autocomplete_fields(request):
            kwargs.setdefault("widget", Chosen(db_field, admin.admin_site, using=kwargs.get("using")))
        inherited: Any = super()
        return inherited.formfield_for_foreignkey(db_field, request, **kwargs)


class AuditedAdmin(ChoosesRows, ModelAdmin):
    """What is added, changed and deleted here stands in the audit log, in the same transaction."""

    formfield_overrides: ClassVar[Any] = {
        DateTimeField: {"form_class": SplitDateTimeField, "widget": SplitDateTime}
    }

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """What is kept of a secret is not felt for, digit by digit, in an address."""
        return lookup.partition("__")[0] not in HASHES and super().lookup_allowed(lookup, value, request)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list. Filtered by what a column cannot hold, it is asked wrong, like other nonsense."""
        try:
            return super().get_changelist_instance(request)
        except (OverflowError, DataError):
            raise IncorrectLookupParameters from None

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *args: Any) -> Any:
        """Do an action to the chosen rows; BadRequest for what can be the key of none."""
        try:
            for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
                self.opts.pk.to_python(key)
            return super().response_action(request, queryset, *args)
        except (ValidationError, OverflowError, DataError):
            raise BadRequest("no key of a row") from None

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Note it."""
        self.note(request, "added", [obj])
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Note it, with the names of what was changed."""
        self.note(request, "changed", [obj], changes=message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Note each."""
        self.note(request, "deleted", queryset)
        return super().log_deletions(request, queryset)

    def note(self, request: HttpRequest, what: str, rows: Iterable[Any], **detail: Any) -> None:
        """One entry a row, `admin.<model>.<what>`."""
        for row in rows:
            name = f"admin.{row._meta.model_name}.{what}"
            record.act(request, name, workspace=workspace_of(row), target=target_of(row), **detail)


def target_of(row: Any) -> str:
    """What the audit log calls a row. One that an address names goes by its number: nothing personal is to
    stay of an account that is deleted."""
    called = str(row)
    if "@" not in called:
        return called
    kind = "account" if isinstance(row, get_user_model()) else row._meta.model_name
    return f"{kind} {row.pk}"


def workspace_of(row: Any) -> str:
    """The `ws_…` that a row belongs to; empty for one of no workspace."""
    found = getattr(row, "public_id", None) or getattr(row, "workspace", None) or ""
    return str(getattr(found, "public_id", found))


class LargeTableAdmin(AuditedAdmin):
    """A list that stays quick with a million rows: no table is counted, nor what a filter would find."""

    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = FirstRows
    list_per_page = 50
    list_max_show_all = 0


class RecordAdmin(LargeTableAdmin):
    """Rows that the service alone writes: to look at, never to change."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Made by the service alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Changed by the service alone."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Deleted by the service alone."""
        return False
