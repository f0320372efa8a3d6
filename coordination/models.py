"""The authority's tables. They have no rules of their own: their constraints repeat what the core decides.

Only the store writes them, over its own connection. Django migrates them and lists them in the admin. Rows
refer to a workspace by its public id. Instants are integer milliseconds since the Unix epoch, and trust is
kept in tenths. Embedded, they have an SQLite file of their own, so that no other writer delays the authority.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models
from django.db.models import Q

MODES = [("shared", "compartido"), ("exclusive", "exclusivo")]

if (
    TYPE_CHECKING
):  # Django's field classes take no type arguments at run time, so a subclass cannot pass them on
    KeyField, RowId = models.CharField, models.BigAutoField
else:

    class KeyField(models.CharField):
        """A text that rows are found by as a whole.

        For a plain CharField PostgreSQL gets a second index, for LIKE. Each grant would pay for it, and no
        query uses it. This spelling of the type has no second index.
        """

        def db_type(self, connection: Any) -> str:
            return f"character varying({self.max_length})"

    class RowId(models.BigAutoField):
        """A number that rises from row to row.

        Django has SQLite keep the last number of a table in a table of its own, so that no number is used
        twice even after the last row was deleted. Each row would pay for that. Here only the order of the
        present rows matters.
        """

        def db_type_suffix(self, connection: Any) -> str | None:
            return None if connection.vendor == "sqlite" else super().db_type_suffix(connection)


class InWorkspace(models.Model):
    """A row of a workspace, which is named by its public id."""

    workspace = models.CharField("espacio", max_length=64)

    class Meta:
        abstract = True


class Numbered(InWorkspace):
    """The same, with a number that rises from row to row."""

    id = RowId(primary_key=True)

    class Meta:
        abstract = True


class ResourceRow(Numbered):
    """A resource's token counter, and the next instant at which time alone changes it (null: none)."""

    name = models.CharField("recurso", max_length=256)
    last_token = models.BigIntegerField("último testigo")
    due_at = models.BigIntegerField("próximo cambio", null=True)
    contended = models.BooleanField("con cola o rechazos", default=False)
    used_at = models.BigIntegerField("último uso")

    class Meta:
        db_table = "lease_resource"
        verbose_name = "recurso"
        verbose_name_plural = "recursos"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_row_per_resource")
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], name="resource_due", condition=Q(due_at__isnull=False)),
            # Finds what is due in one workspace, however much is due in others. Its condition differs from
            # the one above, so that no planner uses it to find what is due first in all workspaces.
            models.Index(
                fields=["workspace", "due_at"], name="resource_due_there", condition=Q(due_at__gt=0)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LeaseRow(InWorkspace):
    """A lease that is held."""

    lease_id = KeyField("lease", max_length=64, primary_key=True)
    resource = models.CharField("recurso", max_length=256)
    agent = models.CharField("agente", max_length=256)
    mode = models.CharField("modo", max_length=9, choices=MODES)
    token = models.BigIntegerField("testigo")
    acquired_at = models.BigIntegerField("concedido")
    expires_at = models.BigIntegerField("caduca")

    class Meta:
        db_table = "lease_lease"
        verbose_name = "lease"
        verbose_name_plural = "leases"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "resource", "token"], name="one_lease_per_token"),
            # The agent comes first, so that the index also finds what an agent holds, and no planner uses it
            # to find what a workspace holds.
            models.UniqueConstraint(fields=["agent", "workspace", "resource"], name="one_lease_per_agent"),
            models.UniqueConstraint(
                fields=["workspace", "resource"], name="one_exclusive_holder", condition=Q(mode="exclusive")
            ),
            models.CheckConstraint(condition=Q(mode__in=["shared", "exclusive"]), name="lease_mode_known"),
        ]

    def __str__(self) -> str:
        return self.lease_id


class WaitRow(Numbered):
    """A place in a queue; the order of ids is the order of the queue."""

    resource = models.CharField("recurso", max_length=256)
    agent = models.CharField("agente", max_length=256)
    mode = models.CharField("modo", max_length=9, choices=MODES)
    since = models.BigIntegerField("desde")
    asked_at = models.BigIntegerField("preguntó")
    offered_at = models.BigIntegerField("ofrecido", null=True)

    class Meta:
        db_table = "lease_wait"
        verbose_name = "espera"
        verbose_name_plural = "esperas"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "resource", "agent"], name="one_wait_per_agent"),
            models.CheckConstraint(condition=Q(mode__in=["shared", "exclusive"]), name="wait_mode_known"),
        ]
        indexes: ClassVar = [models.Index(fields=["agent", "workspace", "resource"], name="wait_agent")]

    def __str__(self) -> str:
        return f"{self.agent} → {self.resource}"


class RefusalRow(Numbered):
    """A deadlock refusal, remembered for the list of deadlocks."""

    resource = models.CharField("recurso", max_length=256)
    agent = models.CharField("agente", max_length=256)
    mode = models.CharField("modo", max_length=9, choices=MODES)
    holder = models.CharField("titular", max_length=256)
    at = models.BigIntegerField("cuándo")

    class Meta:
        db_table = "lease_refusal"
        verbose_name = "interbloqueo rechazado"
        verbose_name_plural = "interbloqueos rechazados"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "resource", "agent"], name="one_refusal_per_agent")
        ]

    def __str__(self) -> str:
        return f"{self.agent} ↛ {self.resource}"


class AgentRow(Numbered):
    """An agent's trust, with `score` in tenths, and its counts."""

    did = models.CharField("agente", max_length=256)
    score = models.IntegerField("confianza (décimas)")
    releases = models.BigIntegerField("entregas", default=0)
    expiries = models.BigIntegerField("caducidades", default=0)
    moved_by = KeyField("movida por", max_length=64, null=True)

    class Meta:
        db_table = "lease_agent"
        verbose_name = "agente"
        verbose_name_plural = "agentes y confianza"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "did"], name="one_row_per_agent"),
            models.CheckConstraint(condition=Q(score__gte=0, score__lte=1000), name="score_in_range"),
        ]

    def __str__(self) -> str:
        return self.did


class TrustMoveRow(Numbered):
    """One move of trust. `lease_id` is unique: no lease moves its agent's trust twice. `delta` in tenths.

    The moves of an agent are a chain, from `AgentRow.moved_by` through `before`. There is no index by agent,
    which would make up half of the pages that a release writes.
    """

    agent = models.CharField("agente", max_length=256)
    lease_id = KeyField("lease", max_length=64, unique=True)
    delta = models.IntegerField("cambio (décimas)")
    score = models.IntegerField("queda en (décimas)")
    at = models.BigIntegerField("cuándo")
    before = KeyField("antes movida por", max_length=64, null=True)

    class Meta:
        db_table = "lease_trust_move"
        verbose_name = "movimiento de confianza"
        verbose_name_plural = "movimientos de confianza"
        indexes: ClassVar = [models.Index(fields=["workspace", "id"], name="trust_of_workspace")]

    def __str__(self) -> str:
        return f"{self.agent} {self.delta / 10:+}"


class TenantRow(models.Model):
    """A workspace in the authority's tables: how many resources are held or waited for now, and the floor at
    which the token counter of a new or purged resource begins.

    On PostgreSQL each change of the workspace gives it a new `stamp`. A process may use its memory of the
    workspace as long as the stamp is the same.
    """

    workspace = KeyField("espacio", max_length=64, primary_key=True)
    active = models.BigIntegerField("recursos activos", default=0)
    token_floor = models.BigIntegerField("suelo de testigos", default=0)
    stamp = models.BigIntegerField("sello", default=0)

    class Meta:
        db_table = "lease_tenant"
        verbose_name = "recuento de espacio"
        verbose_name_plural = "recuentos de espacios"

    def __str__(self) -> str:
        return self.workspace


class OutboxRow(Numbered):
    """The unsigned claims of a receipt, until the ledger has it."""

    receipt_id = KeyField("recibo", max_length=64, unique=True)
    kid = models.CharField("clave", max_length=64)
    claims = models.BinaryField("contenido")

    class Meta:
        db_table = "lease_outbox"
        verbose_name = "suceso por asentar"
        verbose_name_plural = "sucesos por asentar"

    def __str__(self) -> str:
        return self.receipt_id


class PulseRow(models.Model):
    """When each process of the authority last committed a transaction, give or take the time between
    pulses."""

    process = KeyField("proceso", max_length=32, primary_key=True)
    at = models.BigIntegerField("cuándo")

    class Meta:
        db_table = "lease_pulse"
        verbose_name = "latido"
        verbose_name_plural = "latidos"

    def __str__(self) -> str:
        return self.process


class OutageRow(models.Model):
    """A time in which no process ran: leases that expired after `since` and up to `until` cost no trust."""

    since = models.BigIntegerField("desde", primary_key=True)
    until = models.BigIntegerField("hasta")

    class Meta:
        db_table = "lease_outage"
        verbose_name = "ausencia"
        verbose_name_plural = "ausencias"

    def __str__(self) -> str:
        return f"{self.since}–{self.until}"


class DatabaseRow(models.Model):
    """The database of leases about itself: one row, which the first authority on the database writes.

    `database_id` is drawn again after each restore. Every new fencing token is above `token_floor`. `made_in`
    is the PostgreSQL database in which the row was written, as JSON, and `written_by` the number of the
    transaction that wrote it. A copy of the row in another database, or by another transaction, is a sign of
    a restore.
    """

    name = KeyField("nombre", max_length=8, primary_key=True)
    database_id = models.CharField("base de datos", max_length=32)
    token_floor = models.BigIntegerField("suelo de testigos", default=0)
    restored_at = models.BigIntegerField("restaurada", null=True)
    why = models.TextField("por qué", default="")
    made_in = models.TextField("hecha en", default="")
    written_by = models.BigIntegerField("escrita por", default=0)

    class Meta:
        db_table = "lease_database"
        verbose_name = "base de datos de leases"
        verbose_name_plural = "base de datos de leases"

    def __str__(self) -> str:
        return self.database_id
