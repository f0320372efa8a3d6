"""Revoke a lease, which ends it before it expires: an owner on the board, an operator in the admin.

The authority decides it like every command. The resource is offered to the next waiter, the agent's trust
does not move, and the ledger gets a receipt (`coordination.revoke`). The audit log has who did it and why.
The agent gets no message. Its next call answers that it holds nothing, and a protected system that checks
fencing tokens refuses it once the next holder has written.
"""

import unicodedata
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from coordination.authority import process as authority
from coordination.authority.process import Ask, StorageFault
from coordination.core.messages import Ended, Revoke
from coordination.core.model import Lease
from coordination.read import current
from intramedial.audit import record

LONGEST_REASON = 300


class NotRevoked(Exception):
    """The lease was not ended, or it is unknown whether it was. The message says which, for the person that
    revokes."""


class RevokeForm(forms.Form):
    """What a person fills in to revoke a lease: the resource's name, typed, and the reason.

    `token` is the fencing token of the lease that the page showed, so that a form that is sent late or twice
    ends no other lease.
    """

    token = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**63 - 1)
    name = forms.CharField(
        label=_("Nombre del recurso"),
        help_text=_("Escríbelo entero, para que no sea otro."),
        max_length=256,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}),
    )
    reason = forms.CharField(
        label=_("Motivo"), help_text=_("Queda en la auditoría, con tu nombre."), max_length=LONGEST_REASON
    )

    def __init__(self, *args: Any, resource: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._resource = resource

    def clean_name(self) -> str:
        """The typed name. Raises ValidationError when it is not that of the resource."""
        name = unicodedata.normalize("NFC", self.cleaned_data["name"])
        if name != self._resource:
            raise forms.ValidationError(gettext("No es el nombre de este recurso."))
        return name

    def clean_reason(self) -> str:
        """The reason. Raises ValidationError for invisible characters and line breaks."""
        reason: str = self.cleaned_data["reason"]
        if not reason.isprintable():
            raise forms.ValidationError(gettext("Escríbelo en una línea, sin caracteres invisibles."))
        return reason


def revoke(request: HttpRequest, workspace: str, resource: str, agent: str, token: int, reason: str) -> None:
    """End the lease of `agent` on `resource` with that fencing token. The caller has checked the right to it.

    For views that are not asynchronous. Raises NotRevoked. The audit entry is written first, and a second one
    if the lease was not ended: the authority's tables are in another transaction, and an act without an entry
    is worse than an entry without an act.
    """
    lease = held(workspace, resource, agent)
    if lease is None or lease.token != token:
        raise _ended_before()
    details: dict[str, Any] = {"agent": agent, "token": token, "reason": reason}
    record.act(request, "lease.revoked", workspace=workspace, target=resource, **details)
    try:
        ended = _end(workspace, Revoke(resource, lease.lease_id))
    except (authority.Unavailable, StorageFault) as fault:
        record.act(request, "lease.revoke_unanswered", workspace=workspace, target=resource, **details)
        raise NotRevoked(
            gettext("La autoridad no contesta y no se sabe si la concesión está revocada. Míralo de nuevo.")
        ) from fault
    if not ended:
        record.act(request, "lease.revoke_missed", workspace=workspace, target=resource, **details)
        raise _ended_before()


def held(workspace: str, resource: str, agent: str) -> Lease | None:
    """The lease that an agent now has on a resource, or None. Raises NotRevoked when it cannot be read."""
    try:
        return async_to_sync(current.lease)(workspace, resource, agent)
    except StorageFault as fault:
        raise NotRevoked(gettext("La autoridad no contesta. Inténtalo otra vez.")) from fault


@async_to_sync
async def _end(workspace: str, command: Revoke) -> bool:
    answer = await authority.get().ask(Ask(workspace, command, "operator", ""))
    return isinstance(answer.outcome, Ended) and answer.outcome.ended


def _ended_before() -> NotRevoked:
    return NotRevoked(gettext("Esa concesión ya había terminado: no se ha tocado nada."))
