"""What the acts of a workspace's audit log are called on its page."""

from typing import Any

from django.utils.translation import gettext_lazy as _

# By the action's name; those of accounts alone are not shown to a workspace.
ACTIONS = {
    "workspace.created": _("creó el espacio"),
    "workspace.renamed": _("cambió el nombre del espacio"),
    "workspace.classes": _("cambió las clases semánticas"),
    "workspace.handed_over": _("traspasó el espacio"),
    "workspace.deleted": _("borró el espacio"),
    "trial.adopted": _("adoptó una prueba"),
    "key.created": _("creó una clave"),
    "key.rotated": _("rotó una clave"),
    "key.revoked": _("revocó una clave"),
    "agent.registered": _("registró un agente"),
    "agent.revoked": _("revocó un agente"),
    "invitation.created": _("invitó a alguien"),
    "invitation.accepted": _("aceptó una invitación"),
    "invitation.revoked": _("revocó una invitación"),
    "member.role": _("cambió el papel de alguien"),
    "member.removed": _("sacó a alguien"),
    "member.left": _("salió del espacio"),
    "lease.revoked": _("soltó algo por la fuerza"),
    "lease.revoke_missed": _("quiso soltar algo por la fuerza y ya no estaba"),
    "lease.revoke_unanswered": _("quiso soltar algo por la fuerza y la autoridad no contestó"),
    # What operators do: see `AuditedAdmin`.
    "admin.workspace.added": _("creó el espacio, desde la administración"),
    "admin.workspace.changed": _("cambió el espacio, desde la administración"),
    "admin.workspace.deleted": _("borró el espacio, desde la administración"),
    "admin.membership.added": _("añadió a alguien, desde la administración"),
    "admin.membership.changed": _("cambió el papel de alguien, desde la administración"),
    "admin.membership.deleted": _("sacó a alguien, desde la administración"),
    "admin.apikey.added": _("creó una clave, desde la administración"),
    "admin.apikey.changed": _("cambió una clave, desde la administración"),
    "admin.apikey.revoked": _("revocó una clave, desde la administración"),
    "admin.apikey.deleted": _("borró una clave, desde la administración"),
    "admin.registeredagent.added": _("registró un agente, desde la administración"),
    "admin.registeredagent.changed": _("cambió un agente registrado, desde la administración"),
    "admin.registeredagent.deleted": _("borró un agente registrado, desde la administración"),
    "admin.trial.changed": _("cambió la prueba, desde la administración"),
    "admin.trial.deleted": _("borró la prueba, desde la administración"),
}

FORMER = {
    "lease.revoked": "lease.forced",
    "lease.revoke_missed": "lease.force_missed",
    "lease.revoke_unanswered": "lease.force_unanswered",
}
"""Names that entries had before, which are never changed, by the names of today."""

_WORDS = ACTIONS | {former: ACTIONS[now] for now, former in FORMER.items()}


def words_of(action: str) -> Any:
    """What an act is called, by its name of today or a former one; an unknown name as it is."""
    return _WORDS.get(action, action)
