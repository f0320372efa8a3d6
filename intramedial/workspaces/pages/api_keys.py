"""The API keys of a workspace: making, rotating and revoking them.

Members and owners manage keys. Viewers only see how many there are.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from intramedial.audit import record
from intramedial.workspaces import access, forms, keys, provision, snippets
from intramedial.workspaces.access import Role
from intramedial.workspaces.models import ApiKey, Membership, Workspace

ENDED_SHOWN = 50
SENT_TWICE_WITHIN = timedelta(minutes=5)
METHODS = ["GET", "HEAD", "POST"]


@require_http_methods(METHODS)
@access.workspace_page()
def api_keys(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The keys, and the form that makes one."""
    if not access.at_least(membership, Role.MEMBER):
        return _for_viewers(request, membership)
    workspace = membership.workspace
    purpose = f"key {request.user.pk} {workspace.public_id}"
    form = forms.KeyForm(forms.sent(request), purpose=purpose)
    if request.method == "POST" and form.is_valid():
        try:
            return _shown(request, membership, _make(request, workspace, form))
        except provision.TooManyKeys:
            form.add_error(None, _full())
    context = {**access.context(membership), **_listed(workspace), "form": form}
    return render(request, "workspace/keys.html", context, status=422 if form.errors else 200)


@require_http_methods(METHODS)
@access.workspace_page(Role.MEMBER)
def rotate(request: HttpRequest, membership: Membership, prefix: str) -> HttpResponse:
    """Replace a key. The new one works at once, the old one for the chosen time."""
    key = _key(membership, prefix)
    form = forms.RotateForm(forms.sent(request), purpose=f"rotate {request.user.pk} {prefix}")
    if request.method == "POST" and form.is_valid():
        try:
            return _shown(request, membership, _rotate(request, key, form), replaces=key)
        except provision.TooManyKeys:
            form.add_error("hours", _full())
        except _NotInForce:
            form.add_error(None, _("Esta clave ya no está en vigor."))
    context = {**access.context(membership), "key": key, "form": form, "in_force": _in_force(key)}
    return render(request, "workspace/key_rotate.html", context, status=422 if form.errors else 200)


@require_http_methods(METHODS)
@access.workspace_page(Role.MEMBER)
def revoke(request: HttpRequest, membership: Membership, prefix: str) -> HttpResponse:
    """Revoke a key; the page shows first when it was last used."""
    key = _key(membership, prefix)
    if request.method == "POST":
        with transaction.atomic():
            if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
                record.act(request, "key.revoked", workspace=key.workspace.public_id, target=key.prefix)
        messages.success(request, _("Clave %(prefix)s… revocada: ya no vale.") % {"prefix": key.prefix})
        return redirect("keys", membership.workspace.public_id)
    return render(request, "workspace/key_revoke.html", {**access.context(membership), "key": key})


class _NotInForce(Exception):
    """The key is revoked or expired."""


def _for_viewers(request: HttpRequest, membership: Membership) -> HttpResponse:
    if request.method == "POST":
        raise PermissionDenied
    count = provision.keys_in_force(membership.workspace).count()
    return render(request, "workspace/keys_count.html", {**access.context(membership), "count": count})


def _key(membership: Membership, prefix: str) -> ApiKey:
    found = ApiKey.objects.select_related("workspace").filter(workspace=membership.workspace_id)
    key = found.filter(prefix=prefix).first() if keys.is_prefix(prefix) else None
    if key is None:
        raise Http404("no such key in this workspace")
    return key


def _in_force(key: ApiKey) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > timezone.now())


def _listed(workspace: Workspace) -> dict[str, Any]:
    """The keys in force, newest first, and the last ones that are revoked or expired."""
    now = timezone.now()
    every = workspace.api_keys.order_by("-created_at", "-pk")
    over = Q(revoked_at__isnull=False) | Q(expires_at__lte=now)
    return {
        "in_force": list(every.exclude(over)),
        "ended": list(every.filter(over)[:ENDED_SHOWN]),
        "limit": settings.WORKSPACE_API_KEYS,
        "now": now,
    }


def _make(request: HttpRequest, workspace: Workspace, form: forms.KeyForm) -> keys.NewKey:
    given = form.cleaned_data
    new = keys.make_key(form.bits)
    days = int(given["days"])
    with transaction.atomic():
        provision.hold(workspace)
        if ApiKey.objects.filter(sha256=new.sha256).exists():  # the form was sent before
            return new
        provision.create_api_key(
            workspace,
            actor_did=given["actor_did"] or None,
            read_only=given["access"] == form.READ,
            label=given["label"],
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            bits=form.bits,
        )
        record.act(
            request,
            "key.created",
            workspace=workspace.public_id,
            target=new.prefix,
            actor=given["actor_did"] or None,
            readOnly=given["access"] == form.READ,
            days=days or None,
        )
    return new


def _rotate(request: HttpRequest, key: ApiKey, form: forms.RotateForm) -> keys.NewKey:
    new, hours = keys.make_key(form.bits), int(form.cleaned_data["hours"])
    workspace = key.workspace
    with transaction.atomic():
        provision.hold(workspace)
        if ApiKey.objects.filter(sha256=new.sha256).exists():  # the form was sent before
            return new
        key.refresh_from_db()
        if not _in_force(key):
            raise _NotInForce
        provision.rotate_api_key(key, timedelta(hours=hours), form.bits)
        record.act(
            request,
            "key.rotated",
            workspace=workspace.public_id,
            target=key.prefix,
            successor=new.prefix,
            hours=hours,
        )
    return new


def _shown(
    request: HttpRequest, membership: Membership, new: keys.NewKey, replaces: ApiKey | None = None
) -> HttpResponse:
    """The page with the new key's secret and how to use it. A form sent again after `SENT_TWICE_WITHIN` does
    not show it."""
    key = ApiKey.objects.get(sha256=new.sha256)
    if timezone.now() - key.created_at > SENT_TWICE_WITHIN:
        messages.info(request, _("La clave %(prefix)s… ya se enseñó.") % {"prefix": key.prefix})
        return redirect("keys", membership.workspace.public_id)
    context = {
        **access.context(membership),
        "key": key,
        "secret": new.secret,
        "replaces": replaces and _key(membership, replaces.prefix),
        "terminal": "\n".join(
            [snippets.export(new.secret), snippets.curl(key.actor_did, read_only=key.read_only)]
        ),
        "python": snippets.python(key.actor_did, read_only=key.read_only),
        "mcp": snippets.mcp(),
        "ended": not _in_force(key),
    }
    return render(request, "workspace/key_new.html", context)


def _full() -> str:
    return _("El espacio tiene ya %(max)s claves en vigor, que son las que puede tener: revoca alguna.") % {
        "max": settings.WORKSPACE_API_KEYS
    }
