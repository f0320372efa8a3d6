"""The registered agents of a workspace, which sign their requests: registering and revoking them."""

import time
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from intramedial.audit import record
from intramedial.identity import proofs
from intramedial.workspaces import access, forms, provision, snippets
from intramedial.workspaces.access import Role
from intramedial.workspaces.models import Membership

METHODS = ["GET", "HEAD", "POST"]
ENDED_SHOWN = 50


@require_http_methods(METHODS)
@access.workspace_page()
def signers(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The registered agents, and the form for a new one."""
    workspace = membership.workspace
    if request.method == "POST" and not access.at_least(membership, Role.MEMBER):
        raise PermissionDenied
    form = forms.SignerForm(forms.sent(request))
    if request.method == "POST" and form.is_valid() and _register(request, membership, form):
        return redirect("signers", workspace.public_id)
    context = {
        **access.context(membership),
        "in_force": workspace.agents.filter(revoked_at=None).order_by("-registered_at", "-pk"),
        "ended": workspace.agents.exclude(revoked_at=None).order_by("-revoked_at")[:ENDED_SHOWN],
        "form": form,
        "limit": settings.WORKSPACE_AGENTS,
        "command": snippets.proof(workspace.public_id),
    }
    return render(request, "workspace/signers.html", context, status=422 if form.errors else 200)


@require_http_methods(METHODS)
@access.workspace_page(Role.MEMBER)
def revoke(request: HttpRequest, membership: Membership, agent: int) -> HttpResponse:
    """Revoke an agent's registration."""
    workspace = membership.workspace
    found = workspace.agents.filter(pk=agent).first()
    if found is None:
        raise Http404("no such agent in this workspace")
    if request.method == "POST":
        with transaction.atomic():
            if provision.revoke_agent(found):
                record.act(request, "agent.revoked", workspace=workspace.public_id, target=found.did)
        messages.success(request, _("Agente revocado: ya no puede firmar en este espacio."))
        return redirect("signers", workspace.public_id)
    return render(request, "workspace/signer_revoke.html", {**access.context(membership), "agent": found})


def _register(request: HttpRequest, membership: Membership, form: forms.SignerForm) -> bool:
    workspace, did = membership.workspace, form.cleaned_data["did"]
    claims = {"did": did, "workspace": workspace.public_id, "aud": settings.BASE_URL}
    try:
        proofs.check(form.cleaned_data["proof"], claims, now=time.time())
    except proofs.BadProof as error:
        form.add_error("proof", why(error))
        return False
    try:
        with transaction.atomic():
            provision.hold(workspace)
            if provision.register_agent(workspace, did):
                record.act(request, "agent.registered", workspace=workspace.public_id, target=did)
    except provision.TooManyAgents:
        form.add_error(None, _full())
        return False
    messages.success(request, _("Agente registrado: ya puede firmar en este espacio."))
    return True


def why(error: proofs.BadProof) -> str:
    """A sentence that says what is wrong with a proof, in the language of the page."""
    words: dict[str, Any] = {
        "shape": _("No es un JWS compacto: tres partes en base64url, separadas por puntos."),
        "header": _("Su cabecera no es la que hace falta."),
        "claim": _("Su dato «%(claim)s» no es el de este formulario."),
        "age": _("Tiene más de un minuto, o el reloj de la máquina que la hizo va mal: haz otra."),
        "signature": _("No la ha firmado la clave de ese DID."),
    }
    return str(words[error.fault] % {"claim": error.claim} if error.fault == "claim" else words[error.fault])


def _full() -> str:
    return _("El espacio tiene ya %(max)s agentes registrados, que son los que puede tener.") % {
        "max": settings.WORKSPACE_AGENTS
    }
