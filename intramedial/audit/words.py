"""What the acts of a workspace's audit log are called on its page."""

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
    "lease.forced": _("soltó algo por la fuerza"),
    "lease.force_missed": _("quiso soltar algo por la fuerza y ya no estaba"),
    "lease.force_unanswered": _("quiso soltar algo por la fuerza y la autoridad no contestó"),
}
