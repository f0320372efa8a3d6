"""The ledger's one table."""

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Entry(models.Model):
    """One leaf of the log. Indexes begin at 0 and have no gaps; see :func:`intramedial.ledger.log.append`.

    An entry whose contents were dropped has an empty `leaf` and the `leaf_hash` (RFC 6962, section 2.1:
    SHA-256 of a zero byte and the leaf). With the hash the log stays the same log, and a holder's receipt can
    be matched.
    """

    index = models.BigIntegerField("índice", primary_key=True)
    receipt_id = models.CharField("recibo", max_length=64, unique=True)
    workspace = models.CharField("espacio", max_length=64)
    leaf = models.TextField("JWS")
    leaf_hash = models.BinaryField("huella", max_length=32, null=True, editable=False)
    appended_at = models.DateTimeField("anotado", default=timezone.now)

    class Meta:
        verbose_name = "anotación"
        verbose_name_plural = "anotaciones"
        ordering = ["-index"]
        indexes = [models.Index(fields=["workspace", "index"], name="ledger_of_workspace")]
        constraints = [models.CheckConstraint(condition=Q(index__gte=0), name="ledger_index_from_0")]

    def __str__(self) -> str:
        return f"{self.index} · {self.receipt_id}"
