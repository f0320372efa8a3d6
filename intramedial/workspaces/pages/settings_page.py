"""The settings of a workspace: name and semantic classes, leaving, handing over, deleting."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from intramedial.audit import record
from intramedial.workspaces import access, forms, people, provision
from intramedial.workspaces.access import Role, reauthenticated
from intramedial.workspaces.models import Membership, Workspace

METHODS = ["GET", "HEAD", "POST"]


@require_http_methods(METHODS)
@access.workspace_page()
def settings_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The page with all forms; the field `do` names the form that was sent."""
    actions = {"rename": _rename, "classes": _classes, "leave": _leave}
    action = request.POST.get("do", "") if request.method == "POST" else ""
    if action not in ("", "leave") and not access.at_least(membership, Role.OWNER):
        raise PermissionDenied
    context: dict[str, Any] = _forms(membership)
    if action in actions and (answer := actions[action](request, membership, context)):
        return answer
    context |= access.context(membership)
    return render(request, "workspace/settings.html", context, status=422 if context.get("refused") else 200)


@require_http_methods(METHODS)
@access.workspace_page(Role.OWNER)
@reauthenticated
def hand_over(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Make another member an owner, and oneself a member."""
    workspace = membership.workspace
    form = forms.HandOverForm(forms.sent(request), membership=membership)
    if request.method == "POST" and form.is_valid():
        to = form.cleaned_data["to"]
        try:
            _hand_over(request, membership, to)
        except provision.TooManyWorkspaces:
            form.add_error("to", forms.owns_too_many(to.user.email))
        else:
            messages.success(request, _("%(who)s es ahora propietario.") % {"who": to.user.email})
            return redirect("workspace_settings", workspace.public_id)
    context = {**access.context(membership), "form": form}
    return render(request, "workspace/hand_over.html", context, status=422 if form.errors else 200)


@require_http_methods(METHODS)
@access.workspace_page(Role.OWNER)
@reauthenticated
def delete(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Delete the workspace, once its name is typed."""
    workspace = membership.workspace
    form = forms.DeleteForm(forms.sent(request), workspace=workspace)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            access.hold_as(membership, Role.OWNER)
            record.act(request, "workspace.deleted", workspace=workspace.public_id, target=workspace.name)
            workspace.delete()
        messages.success(request, _("El espacio «%(name)s» ya no existe.") % {"name": workspace.name})
        return redirect("workspaces")
    context = {
        **access.context(membership),
        "form": form,
        "keys": provision.keys_in_force(workspace).count(),
        "people": workspace.memberships.count(),
    }
    return render(request, "workspace/delete.html", context, status=422 if form.errors else 200)


def _hand_over(request: HttpRequest, membership: Membership, to: Membership) -> None:
    with transaction.atomic():
        provision.hold_person(to.user_id)
        access.hold_as(membership, Role.OWNER)
        people.hand_over(membership, to)
        record.act(
            request,
            "workspace.handed_over",
            workspace=membership.workspace.public_id,
            target=f"account {to.user_id}",
        )


def _forms(membership: Membership) -> dict[str, Any]:
    workspace = membership.workspace
    classes = [{"name": name, "mode": mode} for name, mode in sorted(workspace.semantic_classes.items())]
    return {
        "rename": forms.RenameForm(initial={"name": workspace.name}),
        "classes": forms.class_forms(initial=classes),
        "others": workspace.memberships.count() - 1,
    }


def _rename(request: HttpRequest, membership: Membership, context: dict[str, Any]) -> HttpResponse | None:
    context["rename"] = form = forms.RenameForm(request.POST)
    if not form.is_valid():
        context["refused"] = "rename"
        return None
    workspace, name = membership.workspace, form.cleaned_data["name"]
    with transaction.atomic():
        if Workspace.objects.filter(pk=workspace.pk).exclude(name=name).update(name=name):
            record.act(
                request,
                "workspace.renamed",
                workspace=workspace.public_id,
                target=name,
                before=workspace.name,
            )
    messages.success(request, _("El espacio se llama ahora «%(name)s».") % {"name": name})
    return redirect("workspace_settings", workspace.public_id)


def _classes(request: HttpRequest, membership: Membership, context: dict[str, Any]) -> HttpResponse | None:
    context["classes"] = form = forms.class_forms(request.POST)
    if not form.is_valid():
        context["refused"] = "classes"
        return None
    workspace, classes = membership.workspace, form.classes
    with transaction.atomic():
        access.hold_as(membership, Role.OWNER)
        if workspace.semantic_classes != classes:
            Workspace.objects.filter(pk=workspace.pk).update(semantic_classes=classes)
            record.act(
                request,
                "workspace.classes",
                workspace=workspace.public_id,
                before=workspace.semantic_classes,
                after=classes,
            )
    messages.success(request, _("Clases guardadas: valen para las peticiones desde este segundo."))
    return redirect("workspace_settings", workspace.public_id)


def _leave(request: HttpRequest, membership: Membership, context: dict[str, Any]) -> HttpResponse | None:
    workspace = membership.workspace
    try:
        with transaction.atomic():
            provision.hold(workspace)
            if people.remove(membership):
                record.act(request, "member.left", workspace=workspace.public_id)
    except people.LastOwner:
        context["refused"] = "leave"
        return None
    messages.success(request, _("Has salido de «%(name)s».") % {"name": workspace.name})
    return redirect("workspaces")
