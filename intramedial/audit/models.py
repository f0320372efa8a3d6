"""The entries of the audit log. Entries are only added, and deleted when they are older than `AUDIT_DAYS`."""

from typing import Any, NoReturn

from django.db import models
from django.utils import timezone


class Entry(models.Model):
    """One act: who did what to what, when, and from which address.

    `actor` is the account's number, so that no personal data remain after the account is deleted; None for a
    command or the service itself. `workspace` is its `ws_…`, empty for acts about an account only.
    """

    at = models.DateTimeField("cuándo", default=timezone.now, db_index=True)
    workspace = models.CharField("espacio", max_length=32, blank=True)
    actor = models.BigIntegerField("cuenta", null=True, blank=True, db_index=True)
    action = models.CharField("qué", max_length=64)
    target = models.CharField("sobre qué", max_length=300, blank=True)
    detail = models.JSONField("detalle", default=dict, blank=True)
    address = models.CharField("desde", max_length=45, blank=True)

    class Meta:
        verbose_name = "entrada de auditoría"
        verbose_name_plural = "auditoría"
        indexes = [models.Index(fields=["workspace", "-at"], name="audit_of_workspace")]

    def __str__(self) -> str:
        return f"{self.action} {self.target}".strip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the entry. TypeError for an entry that was added already."""
        if not self._state.adding:
            raise TypeError("An audit entry is never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """TypeError: single entries are never deleted; see `entries.purge`."""
        raise TypeError("An audit entry is never deleted.")
