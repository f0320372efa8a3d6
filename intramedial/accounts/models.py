"""Who logs in, and the beta passwords that let them."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone


class UserManager(BaseUserManager["User"]):
    """Makes users named by their e-mail address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """A saved user; without a password nobody can log in as them."""
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """A saved user who may do everything in the admin."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, email: str | None) -> "User":
        """The user of that address, however it is written."""
        return self.get(email__iexact=email)


class User(AbstractBaseUser, PermissionsMixin):
    """A person, named by e-mail address."""

    email = models.EmailField("correo electrónico", unique=True)
    name = models.CharField("nombre", max_length=150, blank=True)
    is_staff = models.BooleanField("entra en la administración", default=False)
    is_active = models.BooleanField("activa", default=True)
    date_joined = models.DateTimeField("alta", default=timezone.now)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []

    class Meta:
        verbose_name = "cuenta"
        verbose_name_plural = "cuentas"
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_once")]

    def __str__(self) -> str:
        return self.email


class BetaPassword(models.Model):
    """A password that admits beta testers; only its beginning and a hash of it are kept."""

    label = models.CharField("para quién", max_length=200, blank=True)
    prefix = models.CharField("principio", max_length=16)
    hash = models.CharField("resumen", max_length=128, unique=True, editable=False)
    max_uses = models.PositiveIntegerField(
        "usos permitidos", null=True, blank=True, help_text="vacío: sin límite"
    )
    uses = models.PositiveIntegerField("usos", default=0)
    expires_at = models.DateTimeField("caduca", null=True, blank=True)
    revoked_at = models.DateTimeField("revocada", null=True, blank=True)
    created_at = models.DateTimeField("creada", default=timezone.now)

    class Meta:
        verbose_name = "contraseña de la beta"
        verbose_name_plural = "contraseñas de la beta"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(max_uses__isnull=True) | models.Q(uses__lte=models.F("max_uses")),
                name="beta_password_within_uses",
            )
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.label}".strip()


class BetaUse(models.Model):
    """One use of a beta password: who came in with it, and when."""

    password = models.ForeignKey(
        BetaPassword, models.CASCADE, related_name="used_by", verbose_name="contraseña"
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="beta_uses", verbose_name="cuenta")
    used_at = models.DateTimeField("cuándo", default=timezone.now)

    class Meta:
        verbose_name = "uso de la beta"
        verbose_name_plural = "usos de la beta"
        constraints = [models.UniqueConstraint(fields=["password", "user"], name="beta_use_once")]

    def __str__(self) -> str:
        return f"{self.user} · {self.password}"
