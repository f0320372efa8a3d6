"""The ledger's one table."""

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Entry(models.Model):
    """One leaf of the log. Indexes begin at 0 and have no gaps; see :func:`intramedial.ledger.log.append`."""

    index = models.BigIntegerField("índice", primary_key=True)
    receipt_id = models.CharField("recibo", max_length=64, unique=True)
    workspace = models.CharField("espacio", max_length=64)
    leaf = models.TextField("JWS")
    appended_at = models.DateTimeField("anotado", default=timezone.now)

    class Meta:
        verbose_name = "anotación"
        verbose_name_plural = "anotaciones"
        ordering = ["-index"]
        indexes = [models.Index(fields=["workspace", "index"], name="ledger_of_workspace")]
        constraints = [models.CheckConstraint(condition=Q(index__gte=0), name="ledger_index_from_0")]

    def __str__(self) -> str:
        return f"{self.index} · {self.receipt_id}"
