"""The list of a person's workspaces with the form for a new one, and the overview of each workspace."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from intramedial.audit import record
from intramedial.workspaces import access, forms, keys, provision, snippets
from intramedial.workspaces.models import Membership, Workspace


@require_http_methods(["GET", "HEAD", "POST"])
@access.person_page
def workspaces(request: HttpRequest) -> HttpResponse:
    """The workspaces of the person, with the role in each, and the form for a new one."""
    form = forms.WorkspaceForm(forms.sent(request), purpose=f"workspace {request.user.pk}")
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("workspace", _create(request, form))
        except provision.TooManyWorkspaces:
            form.add_error(None, forms.too_many_workspaces())
    memberships = Membership.objects.filter(user=request.user.pk).select_related("workspace")
    context = {
        "form": form,
        "adopt_path": access.path_of("adopt"),
        "memberships": memberships.order_by("workspace__name", "pk"),
    }
    return render(request, "workspace/list.html", context, status=422 if form.errors else 200)


def _create(request: HttpRequest, form: forms.WorkspaceForm) -> str:
    user = access.user_id(request)
    public_id = keys.public_id("ws_", form.bits)
    with transaction.atomic():
        provision.hold_person(user)
        if not Workspace.objects.filter(public_id=public_id).exists():  # else the form was sent before
            made = provision.create_workspace(form.cleaned_data["name"], user, form.bits)
            record.act(request, "workspace.created", workspace=public_id, target=made.name)
    return public_id


@require_safe
@access.workspace_page()
def workspace(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The overview of a workspace: figures, and the first steps."""
    return render(request, "workspace/overview.html", {**access.context(membership), **_overview(membership)})


def _overview(membership: Membership) -> dict[str, Any]:
    place = membership.workspace
    used_at = place.api_keys.aggregate(at=Max("last_used_at"))["at"]
    return {
        "keys": provision.keys_in_force(place).count(),
        "keys_limit": settings.WORKSPACE_API_KEYS,
        "signers": place.agents.filter(revoked_at=None).count(),
        "people": place.memberships.count(),
        "used_at": used_at,
        "curl": snippets.curl(),
        "keys_path": access.path_of("keys", place.public_id),
        "board_path": access.path_of("board", place.public_id),
    }
