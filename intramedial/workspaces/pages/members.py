"""The members of a workspace, their roles, and invitations."""

import logging

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.mail import EmailMessage
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from intramedial.audit import record
from intramedial.http.formats import base64url
from intramedial.workspaces import access, forms, people, provision
from intramedial.workspaces.access import Role
from intramedial.workspaces.models import Invitation, Membership, Workspace

logger = logging.getLogger(__name__)

METHODS = ["GET", "HEAD", "POST"]


@require_http_methods(METHODS)
@access.workspace_page()
def members(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The members; for owners also the open invitations and the form for a new one."""
    owner = access.at_least(membership, Role.OWNER)
    if request.method == "POST" and not owner:
        raise PermissionDenied
    workspace = membership.workspace
    purpose = f"invite {request.user.pk} {workspace.public_id}"
    form = forms.InvitationForm(forms.sent(request), workspace=workspace, purpose=purpose)
    link = email = ""
    if request.method == "POST" and form.is_valid():
        try:
            link = _invite(request, membership, form)
        except people.TooManyPeople:
            form.add_error(None, _full())
        except people.TooManyInvitations:
            form.add_error(None, _too_often())
        else:
            if not link:
                return redirect("members", workspace.public_id)
            email = form.cleaned_data["email"]
            form = forms.InvitationForm(workspace=workspace, purpose=purpose)
    context = {
        **access.context(membership),
        "members": workspace.memberships.select_related("user").order_by("created_at", "pk"),
        "form": form,
        "link": link,
        "email": email,
        "invitations": people.open_invitations(workspace).order_by("created_at") if owner else [],
        "days": settings.INVITATION_DAYS,
    }
    return render(request, "workspace/members.html", context, status=422 if form.errors else 200)


@require_http_methods(METHODS)
@access.workspace_page(Role.OWNER)
def member(request: HttpRequest, membership: Membership, person: int) -> HttpResponse:
    """Change the role of one member, or remove the member."""
    workspace = membership.workspace
    found = workspace.memberships.select_related("user").filter(pk=person).first()
    if found is None:
        raise Http404("no such member of this workspace")
    form = forms.RoleForm(forms.sent(request), initial={"role": found.role})
    error = ""
    if request.method == "POST":
        try:
            if request.POST.get("do") == "remove":
                return _remove(request, membership, found)
            if form.is_valid():
                return _set_role(request, membership, found, form.cleaned_data["role"])
        except people.LastOwner:
            error = _("Es el único propietario: haz antes propietario a otra persona.")
        except provision.TooManyWorkspaces:
            form.add_error("role", forms.owns_too_many(found.user.email))
    context = {**access.context(membership), "member": found, "form": form, "error": error}
    return render(request, "workspace/member.html", context, status=422 if error or form.errors else 200)


@require_POST
@access.workspace_page(Role.OWNER)
def invitation(request: HttpRequest, membership: Membership, invitation: int) -> HttpResponse:
    """Revoke an invitation."""
    workspace = membership.workspace
    found = people.open_invitations(workspace).filter(pk=invitation).first()
    if found is None:
        raise Http404("no such invitation to this workspace")
    with transaction.atomic():
        if Invitation.objects.filter(pk=found.pk).delete()[0]:
            record.act(
                request, "invitation.revoked", workspace=workspace.public_id, target=masked(found.email)
            )
    messages.success(request, _("Invitación de %(email)s revocada.") % {"email": found.email})
    return redirect("members", workspace.public_id)


@require_http_methods(METHODS)
def accept(request: HttpRequest) -> HttpResponse:
    """The page of an invitation's link.

    The link's token is in the fragment, which browsers do not send to servers. The page's script puts it into
    the form, and keeps it over a log-in.
    """
    if request.method == "POST" and request.user.is_authenticated:
        code = request.POST.get("code", "").strip()[:500]
        try:
            return redirect("workspace", _accept(request, code))
        except people.NotInvited:
            return _accepting(request, code, refused=True)
        except provision.TooManyWorkspaces:
            messages.error(request, forms.too_many_workspaces())
            return redirect("workspaces")
    return _accepting(request, "", refused=False)


def _accepting(request: HttpRequest, code: str, *, refused: bool) -> HttpResponse:
    back = urlencode({"next": request.path})
    context = {
        "code": code,
        "refused": refused,
        "log_in": f"{access.path_of('account_login')}?{back}",
        "sign_up": f"{access.path_of('account_signup')}?{back}",
    }
    return access.private(render(request, "workspace/accept.html", context, status=422 if refused else 200))


def _accept(request: HttpRequest, code: str) -> str:
    invitation = people.find_invitation(code, request.user)
    if invitation is None:
        raise people.NotInvited
    workspace = invitation.workspace
    with transaction.atomic():
        provision.hold_person(access.user_id(request))
        provision.hold(workspace)
        if people.accept(invitation, request.user):
            record.act(
                request,
                "invitation.accepted",
                workspace=workspace.public_id,
                target=masked(invitation.email),
                role=invitation.role,
            )
    messages.success(request, _("Ya estás en «%(name)s».") % {"name": workspace.name})
    return workspace.public_id


def _invite(request: HttpRequest, membership: Membership, form: forms.InvitationForm) -> str:
    """Store the invitation and mail its link. Returns the link if it could not be mailed, else nothing."""
    workspace = membership.workspace
    email, role = form.cleaned_data["email"], form.cleaned_data["role"]
    token = base64url(form.bits).decode()
    with transaction.atomic():
        access.hold_as(membership, Role.OWNER)
        new = people.invite(workspace, email, role, token, by=access.user_id(request))
        if new:
            record.act(
                request, "invitation.created", workspace=workspace.public_id, target=masked(email), role=role
            )
    link = f"{settings.BASE_URL}{reverse('accept_invitation')}#{token}"
    if settings.EMAIL_URL and (not new or _mail(request, workspace, email, link)):
        messages.success(request, _("Invitación enviada a %(email)s.") % {"email": email})
        return ""
    return link


def _mail(request: HttpRequest, workspace: Workspace, email: str, link: str) -> bool:
    """Mail the link; returns whether that worked."""
    context = {"workspace": workspace, "link": link, "days": settings.INVITATION_DAYS, "by": request.user}
    body = render_to_string("workspace/invitation.txt", context)
    try:
        EmailMessage(_("Te invitan a un espacio de intramedial"), body, to=[email]).send()
    except OSError:  # smtplib's exceptions among them
        logger.exception("an invitation could not be mailed")
        return False
    return True


def masked(email: str) -> str:
    """An address shortened for the audit log, which outlives accounts: a…@example.com."""
    return f"{email[:1]}…@{email.rpartition('@')[2]}"


def _full() -> str:
    return _("El espacio tiene ya %(max)s miembros e invitaciones, que son los que puede tener.") % {
        "max": settings.WORKSPACE_MEMBERS
    }


def _too_often() -> str:
    return _("Has invitado a %(max)s personas en la última hora; sigue más tarde.") % {
        "max": settings.INVITATIONS_PER_HOUR
    }


def _set_role(request: HttpRequest, membership: Membership, found: Membership, role: str) -> HttpResponse:
    workspace = membership.workspace
    with transaction.atomic():
        provision.hold_person(found.user_id)
        access.hold_as(membership, Role.OWNER)
        if people.set_role(found, role):
            record.act(
                request,
                "member.role",
                workspace=workspace.public_id,
                target=f"account {found.user_id}",
                role=role,
            )
    messages.success(request, _("El papel de %(who)s ha cambiado.") % {"who": found.user.email})
    return redirect("members", workspace.public_id)


def _remove(request: HttpRequest, membership: Membership, found: Membership) -> HttpResponse:
    workspace = membership.workspace
    with transaction.atomic():
        access.hold_as(membership, Role.OWNER)
        if people.remove(found):
            record.act(
                request, "member.removed", workspace=workspace.public_id, target=f"account {found.user_id}"
            )
    messages.success(request, _("%(who)s ya no está en el espacio.") % {"who": found.user.email})
    return redirect("workspaces" if found.pk == membership.pk else "members", *_of(membership, found))


def _of(membership: Membership, found: Membership) -> list[str]:
    return [] if found.pk == membership.pk else [membership.workspace.public_id]
