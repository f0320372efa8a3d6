"""The audit log of a workspace for its owners: filtered, in pages, and as a file."""

import json
from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from intramedial.audit import entries as log
from intramedial.audit.entries import ACTIONS, words_of
from intramedial.audit.models import Entry
from intramedial.web import amounts
from intramedial.workspaces import access
from intramedial.workspaces.access import Role
from intramedial.workspaces.models import Membership, Workspace

PAGE = 50
FORMATS = {
    "csv": (log.as_csv, "", "text/csv; charset=utf-8"),
    "json": (log.as_json, "\n]\n", "application/json"),
}


class FilterForm(forms.Form):
    """Filters of the log."""

    action = forms.ChoiceField(label=_("Qué"), required=False)
    person = forms.TypedChoiceField(label=_("Quién"), required=False, coerce=int, empty_value=None)
    since = forms.DateField(
        label=_("Desde"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    until = forms.DateField(
        label=_("Hasta"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def __init__(self, *args: Any, workspace: Workspace, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace
        people = workspace.memberships.select_related("user").order_by("user__email")
        action: Any = self.fields["action"]
        person: Any = self.fields["person"]
        action.choices = [("", _("todo")), *ACTIONS.items()]
        person.choices = [
            ("", _("cualquiera")),
            *((str(one.user_id), one.user.email) for one in people),
        ]

    @property
    def wanted(self) -> log.Filter:
        """The filters of a valid form. Days are whole days in UTC."""
        given = self.cleaned_data
        return log.Filter(
            self.workspace.public_id,
            given["action"],
            given["person"],
            given["since"] and datetime.combine(given["since"], time.min, UTC),
            given["until"] and datetime.combine(given["until"], time.max, UTC),
        )


@require_safe
@access.workspace_page(Role.OWNER)
def audit(request: HttpRequest, membership: Membership) -> HttpResponse:
    """One page of the log."""
    form = FilterForm(request.GET, workspace=membership.workspace)
    rows, following = [], ""
    if form.is_valid():
        try:
            entries, following = log.page(form.wanted, request.GET.get("after", ""), PAGE)
        except (ValueError, OverflowError):
            raise Http404("no such page of the log") from None
        rows = _rows(entries)
    query = request.GET.copy()
    query.pop("after", None)
    context = {
        **access.context(membership),
        "form": form,
        "rows": rows,
        "query": query.urlencode(),
        "filtered": any(query.values()),
        "next": following,
        "after": request.GET.get("after", ""),
        "days": settings.AUDIT_DAYS,
        "most": amounts.number(log.MOST),
    }
    return render(request, "workspace/audit.html", context, status=200 if form.is_valid() else 422)


@require_safe
@access.workspace_page(Role.OWNER)
def download(request: HttpRequest, membership: Membership, form: str) -> StreamingHttpResponse:
    """The filtered log as a file."""
    if form not in FORMATS:
        raise Http404("no such format")
    filters = FilterForm(request.GET, workspace=membership.workspace)
    if not filters.is_valid():
        raise Http404("no such filter")
    write, end, kind = FORMATS[form]
    response = StreamingHttpResponse(log.streamed(filters.wanted, write, end), content_type=kind)
    name = f"audit-{membership.workspace.public_id}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _rows(entries: list[Entry]) -> list[dict[str, Any]]:
    known = log.accounts(entries)
    return [
        {
            "entry": entry,
            "words": words_of(entry.action),
            "who": _who(entry.actor, known),
            "target": _target(entry.target, known),
            "detail": {
                name: _shown(value) for name, value in entry.detail.items() if value not in (None, "")
            },
        }
        for entry in entries
    ]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _target(target: str, known: dict[int, Any]) -> str:
    number = log.account_in(target)
    return target if number is None else _who(number, known)


def _who(number: int | None, known: dict[int, Any]) -> str:
    if number is None:
        return str(_("el servicio"))
    if number in known:
        return str(known[number])
    return str(_("cuenta borrada, n.º %(number)s") % {"number": number})
