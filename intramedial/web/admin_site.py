"""The admin site, in Spanish, and base classes for the admins of models."""

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
"""Rows of a list that can be paged through. Later rows are found by a search."""

ORDER = ("accounts", "workspaces", "coordination", "ledger", "audit")
# Names for applications and models of others that have no Spanish name, or the same name as one of ours.
NAMES = {
    "account": "Direcciones",
    "auth": "Permisos",
    "mfa": "Segundo factor",
    "Authenticator": "Segundos factores",
    "LeaseRow": "Concesiones",
}


NUL, LONGEST_KEY = "\0", 18
HASHES = ("hash", "sha256")
"""Columns with hashes of secrets."""


class SplitDateTime(AdminSplitDateTime):
    """The widget for a date and a time, each with a label for screen readers."""

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
        """The applications and their models, the most used first, with Spanish names."""
        found: list[dict[str, Any]] = super().get_app_list(request, app_label)
        for app in found:
            app["name"] = NAMES.get(app["app_label"], app["name"])
            for model in app["models"]:
                model["name"] = NAMES.get(model["object_name"], model["name"])
        place = {label: at for at, label in enumerate(ORDER)}
        return sorted(found, key=lambda app: place.get(app["app_label"], len(ORDER)))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wrap a view of the admin. BadRequest for a NUL in any parameter: a database cannot store it."""

        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            given = (request.GET, request.POST)
            texts = [text for part in given for _name, found in part.lists() for text in found]
            if any(NUL in text for text in (*texts, *map(str, kwargs.values()))):
                raise BadRequest("a NUL is in no text")
            return view(request, *args, **kwargs)

        return super().admin_view(checked, cacheable)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the log-in page of all accounts. PermissionDenied for a session not of staff."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied
        index = reverse("admin:index", current_app=self.name)
        if request.user.is_authenticated:
            return redirect(index)
        return redirect_to_login(request.GET.get("next") or index, reverse("account_login"))

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Redirect to the page on which all accounts change their password."""
        return redirect("account_change_password")


class FirstRows(Paginator):
    """A paginator over the first `AT_MOST` rows of a list. It never counts more rows."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, or `AT_MOST` if there are more."""
        rows: Any = self.object_list
        return int(rows.order_by()[:AT_MOST].count())

    @property
    def is_full(self) -> bool:
        """Whether there may be more rows."""
        return self.count >= AT_MOST


class RowSelect(AutocompleteSelect):
    """The widget that selects a row. A value that cannot be a key, as in a forged form, selects none."""

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        """The selected row."""
        known = [key for key in value if str(key).isdecimal() and len(str(key)) <= LONGEST_KEY]
        return super().optgroups(name, known, attr)


class SelectsRows:
    """Mixin for an admin with `autocomplete_fields`, which get the widget `RowSelect`."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The form field of a foreign key."""
        admin: Any = self
        if db_field.name in admin.get_autocomplete_fields(request):
            kwargs.setdefault("widget", RowSelect(db_field, admin.admin_site, using=kwargs.get("using")))
        inherited: Any = super()
        return inherited.formfield_for_foreignkey(db_field, request, **kwargs)


class AuditedAdmin(SelectsRows, ModelAdmin):
    """An admin that enters additions, changes and deletions in the audit log, in the same transaction."""

    formfield_overrides: ClassVar[Any] = {
        DateTimeField: {"form_class": SplitDateTimeField, "widget": SplitDateTime}
    }

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Whether addresses may filter by `lookup`. Hashes are excluded: they can be guessed bit by bit."""
        return lookup.partition("__")[0] not in HASHES and super().lookup_allowed(lookup, value, request)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list. IncorrectLookupParameters for a filter with a value that its column cannot hold."""
        try:
            return super().get_changelist_instance(request)
        except (OverflowError, DataError):
            raise IncorrectLookupParameters from None

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *args: Any) -> Any:
        """Do an action to the selected rows. BadRequest for a value that cannot be a key."""
        try:
            for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
                self.opts.pk.to_python(key)
            return super().response_action(request, queryset, *args)
        except (ValidationError, OverflowError, DataError):
            raise BadRequest("no key of a row") from None

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Record the addition."""
        self.audit(request, "added", [obj])
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Record the change, with the names of the changed fields."""
        self.audit(request, "changed", [obj], changes=message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Record each deletion."""
        self.audit(request, "deleted", queryset)
        return super().log_deletions(request, queryset)

    def audit(self, request: HttpRequest, what: str, rows: Iterable[Any], **detail: Any) -> None:
        """Add an entry `admin.<model>.<what>` to the audit log for each row."""
        for row in rows:
            name = f"admin.{row._meta.model_name}.{what}"
            record.act(request, name, workspace=workspace_of(row), target=target_of(row), **detail)


def target_of(row: Any) -> str:
    """The name of a row in the audit log. If its text has an e-mail address, the name is its number, so that
    no personal data remain after an account is deleted."""
    text = str(row)
    if "@" not in text:
        return text
    kind = "account" if isinstance(row, get_user_model()) else row._meta.model_name
    return f"{kind} {row.pk}"


def workspace_of(row: Any) -> str:
    """The `ws_…` that a row belongs to; empty if it belongs to none."""
    found = getattr(row, "public_id", None) or getattr(row, "workspace", None) or ""
    return str(getattr(found, "public_id", found))


class LargeTableAdmin(AuditedAdmin):
    """An admin whose list stays fast with a million rows: it never counts all rows of a table or filter."""

    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = FirstRows
    list_per_page = 50
    list_max_show_all = 0


class RecordAdmin(LargeTableAdmin):
    """An admin of rows that only the service writes, to read only."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: only the service adds rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: only the service changes rows."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: only the service deletes rows."""
        return False
