"""Workspaces, their members, keys and agents, and trials. Other databases name a workspace by `public_id`."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from intramedial.workspaces import keys

MODES = {"shared", "exclusive"}
DID_LENGTH = 256


def new_workspace_id() -> str:
    """A new `ws_…`."""
    return keys.public_id("ws_")


def check_semantic_classes(value: Any) -> None:
    """ValidationError unless `value` is {class: "shared" | "exclusive"}."""
    if not isinstance(value, dict) or not all(
        isinstance(name, str) and name and mode in MODES for name, mode in value.items()
    ):
        raise ValidationError('Debe ser un objeto {"clase": "shared" | "exclusive"}.')


class Workspace(models.Model):
    """A workspace: resources, agents and waits of one do not touch another's."""

    public_id = models.CharField(
        "identificador", max_length=32, unique=True, default=new_workspace_id, editable=False
    )
    name = models.CharField("nombre", max_length=200)
    semantic_classes = models.JSONField(
        "clases semánticas",
        default=dict,
        blank=True,
        validators=[check_semantic_classes],
        help_text='{"clase": "shared"} deja leer a varios; {"clase": "exclusive"}, a uno.',
    )
    created_at = models.DateTimeField("creado", default=timezone.now, db_index=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Membership", related_name="workspaces", verbose_name="miembros"
    )

    class Meta:
        verbose_name = "espacio"
        verbose_name_plural = "espacios"

    def __str__(self) -> str:
        return f"{self.name} ({self.public_id})"


class Membership(models.Model):
    """A person's role in a workspace."""

    class Role(models.TextChoices):
        """Owners manage people and settings, members use the workspace, viewers only read."""

        OWNER = "owner", _("propietario")
        MEMBER = "member", _("miembro")
        VIEWER = "viewer", _("lector")

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="memberships", verbose_name="espacio"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships", verbose_name="cuenta"
    )
    role = models.CharField("papel", max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField("desde", default=timezone.now)

    class Meta:
        verbose_name = "miembro"
        verbose_name_plural = "miembros"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="membership_once"),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "member", "viewer"]), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.get_role_display()}"


class Invitation(models.Model):
    """An invitation of an address to a workspace. Only the hash of the link's token is stored."""

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="invitations", verbose_name="espacio"
    )
    email = models.EmailField("correo electrónico")
    role = models.CharField("papel", max_length=10, choices=Membership.Role.choices)
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField("hecha", default=timezone.now)
    expires_at = models.DateTimeField("caduca", db_index=True)

    class Meta:
        verbose_name = "invitación"
        verbose_name_plural = "invitaciones"
        constraints = [
            models.UniqueConstraint("workspace", Lower("email"), name="invitation_once"),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "member", "viewer"]), name="invitation_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} · {self.workspace}"


class ApiKey(models.Model):
    """A secret that acts for any agent of its workspace, or for one DID only."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="api_keys", verbose_name="espacio")
    prefix = models.CharField("principio", max_length=16, unique=True)
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    actor_did = models.CharField("agente", max_length=DID_LENGTH, null=True, blank=True)  # noqa: DJ001
    read_only = models.BooleanField("solo lectura", default=False)
    label = models.CharField("etiqueta", max_length=200, blank=True)
    created_at = models.DateTimeField("creada", default=timezone.now, db_index=True)
    expires_at = models.DateTimeField("caduca", null=True, blank=True)
    revoked_at = models.DateTimeField("revocada", null=True, blank=True)
    last_used_at = models.DateTimeField("último uso", null=True, blank=True)

    class Meta:
        verbose_name = "clave de API"
        verbose_name_plural = "claves de API"
        constraints = [
            # NULL means "any agent"; an empty text would be an agent without a name.
            models.CheckConstraint(condition=~Q(actor_did=""), name="api_key_actor_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"


class RegisteredAgent(models.Model):
    """An agent, given by its DID, that may sign requests in a workspace."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="agents", verbose_name="espacio")
    did = models.CharField("DID", max_length=DID_LENGTH, db_index=True)
    registered_at = models.DateTimeField("registrado", default=timezone.now)
    revoked_at = models.DateTimeField("revocado", null=True, blank=True)

    class Meta:
        verbose_name = "agente registrado"
        verbose_name_plural = "agentes registrados"
        constraints = [models.UniqueConstraint(fields=["workspace", "did"], name="registered_agent_once")]

    def __str__(self) -> str:
        return self.did


class Trial(models.Model):
    """A visitor's key with a number of calls and a workspace of its own.

    The row outlives its workspace, so that the key of a deleted trial cannot begin another.
    """

    did = models.CharField("DID", max_length=DID_LENGTH, unique=True)
    workspace = models.OneToOneField(
        Workspace, models.SET_NULL, null=True, blank=True, related_name="trial", verbose_name="espacio"
    )
    calls_limit = models.PositiveIntegerField("llamadas permitidas")
    calls_used = models.PositiveIntegerField("llamadas hechas", default=0)
    created_at = models.DateTimeField("creada", default=timezone.now)
    expires_at = models.DateTimeField("caduca", db_index=True)
    address_hash = models.CharField("resumen de la dirección", max_length=64, blank=True)
    site_hash = models.CharField("resumen de la red /48", max_length=64, blank=True)

    class Meta:
        verbose_name = "prueba"
        verbose_name_plural = "pruebas"
        indexes = [
            models.Index(fields=["address_hash", "created_at"], name="trial_by_address"),
            models.Index(fields=["site_hash", "created_at"], name="trial_by_site"),
            models.Index(fields=["created_at"], name="trial_by_time"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(calls_used__lte=F("calls_limit")), name="trial_within_calls")
        ]

    def __str__(self) -> str:
        return self.did


class TrialAgent(models.Model):
    """A further agent of a trial. All agents of a trial share its calls."""

    trial = models.ForeignKey(Trial, models.CASCADE, related_name="agents", verbose_name="prueba")
    did = models.CharField("DID", max_length=DID_LENGTH, unique=True)
    created_at = models.DateTimeField("desde", default=timezone.now)

    class Meta:
        verbose_name = "agente de prueba"
        verbose_name_plural = "agentes de prueba"

    def __str__(self) -> str:
        return self.did


class Nonce(models.Model):
    """The nonce of a signed request: a hash of (public key, nonce), stored until the signature expires."""

    key_and_nonce = models.CharField("clave y nonce", max_length=64, unique=True)
    expires_at = models.DateTimeField("caduca", db_index=True)

    class Meta:
        verbose_name = "nonce"
        verbose_name_plural = "nonces"

    def __str__(self) -> str:
        return self.key_and_nonce


class Ticket(models.Model):
    """A ticket that opens one live socket of a workspace. Only its hash is stored."""

    sha256 = models.CharField("resumen", max_length=64, unique=True, editable=False)
    workspace = models.CharField("espacio", max_length=32)
    expires_at = models.DateTimeField("caduca", db_index=True)

    class Meta:
        verbose_name = "billete"
        verbose_name_plural = "billetes"

    def __str__(self) -> str:
        return f"{self.workspace}, {self.expires_at:%H:%M:%S}"
