"""Revoking a lease, which ends it before its time: an owner from the board, an operator from the admin.

It goes through the authority like every decision. The resource is free for the next in line, the agent's
trust does not move, and the ledger has a receipt of it, `coordination.give_back`. Who did it and why stands
in the audit log. The agent is not told: its next call says that it holds nothing, and a protected system that
checks fencing tokens refuses it as soon as the next holder has come.
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
    """The lease was not ended, or nobody knows; says which in words for whoever asked."""


class RevokeForm(forms.Form):
    """What is asked before a lease is ended: the resource's name, typed, and why.

    `token` is that of the lease that was looked at, so that a form sent late or twice ends no other.
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
        """The resource's own name, and no other."""
        name = unicodedata.normalize("NFC", self.cleaned_data["name"])
        if name != self._resource:
            raise forms.ValidationError(gettext("No es el nombre de este recurso."))
        return name

    def clean_reason(self) -> str:
        """One line that shows as it was written."""
        reason: str = self.cleaned_data["reason"]
        if not reason.isprintable():
            raise forms.ValidationError(gettext("Escríbelo en una línea, sin caracteres invisibles."))
        return reason


def revoke(request: HttpRequest, workspace: str, resource: str, agent: str, token: int, reason: str) -> None:
    """End the lease of `agent` on `resource`, the one with that fencing token; whoever asks may do so.

    Called in a view that is not asynchronous. Raises NotRevoked, with words to show. It is noted before it is
    done, and once more if nothing came of it: the authority's tables are in another transaction, and an act
    without its entry is worse than an entry without its act.
    """
    lease = held(workspace, resource, agent)
    if lease is None or lease.token != token:
        raise _gone()
    said: dict[str, Any] = {"agent": agent, "token": token, "reason": reason}
    record.act(request, "lease.revoked", workspace=workspace, target=resource, **said)
    try:
        ended = _end(workspace, Revoke(resource, lease.lease_id))
    except (authority.Unavailable, StorageFault) as fault:
        record.act(request, "lease.revoke_unanswered", workspace=workspace, target=resource, **said)
        raise NotRevoked(
            gettext("La autoridad no contesta y no se sabe si la concesión está revocada. Míralo de nuevo.")
        ) from fault
    if not ended:
        record.act(request, "lease.revoke_missed", workspace=workspace, target=resource, **said)
        raise _gone()


def held(workspace: str, resource: str, agent: str) -> Lease | None:
    """The lease of an agent on a resource, now. Raises NotRevoked when it cannot be read."""
    try:
        return async_to_sync(current.lease)(workspace, resource, agent)
    except StorageFault as fault:
        raise NotRevoked(gettext("La autoridad no contesta. Inténtalo otra vez.")) from fault


@async_to_sync
async def _end(workspace: str, command: Revoke) -> bool:
    answer = await authority.get().ask(Ask(workspace, command, "operator", ""))
    return isinstance(answer.outcome, Ended) and answer.outcome.ended


def _gone() -> NotRevoked:
    return NotRevoked(gettext("Esa concesión ya había terminado: no se ha tocado nada."))
