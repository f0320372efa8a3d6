"""Accounts, beta passwords, requests for access, and counted tries."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone


class UserManager(BaseUserManager["User"]):
    """Makes users named by their e-mail address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Save and return a user. Without a password, nobody can log in to the account."""
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Save and return a user with all permissions in the admin."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, email: str | None) -> "User":
        """The user with that address, in upper or lower case."""
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
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = "cuenta"
        verbose_name_plural = "cuentas"
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_once")]

    def __str__(self) -> str:
        return self.email


class BetaPassword(models.Model):
    """A password that admits beta testers. Only its first characters and its hash are stored."""

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
    """One use of a beta password: by which account, for what, and when."""

    class Kind(models.TextChoices):
        """What the beta password was used for."""

        SIGNUP = "signup", "registro"
        LOGIN = "login", "acceso"

    password = models.ForeignKey(
        BetaPassword, models.CASCADE, related_name="used_by", verbose_name="contraseña"
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="beta_uses", verbose_name="cuenta")
    kind = models.CharField("para qué", max_length=10, choices=Kind.choices, default=Kind.SIGNUP)
    used_at = models.DateTimeField("cuándo", default=timezone.now, db_index=True)

    class Meta:
        verbose_name = "uso de la beta"
        verbose_name_plural = "usos de la beta"

    def __str__(self) -> str:
        return f"{self.user} · {self.password}"


class AccessRequest(models.Model):
    """A request for access to the beta."""

    email = models.EmailField("correo electrónico", unique=True)
    name = models.CharField("nombre", max_length=80, blank=True)
    about = models.TextField("para qué", max_length=1000)
    language = models.CharField("idioma", max_length=5, default="es")
    created_at = models.DateTimeField("pedido", default=timezone.now, db_index=True)
    answered_at = models.DateTimeField("contestado", null=True, blank=True)

    class Meta:
        verbose_name = "petición de acceso"
        verbose_name_plural = "peticiones de acceso"

    def __str__(self) -> str:
        return self.email


class Try(models.Model):
    """One try of an action that is limited per hour. `of` names the action and a keyed hash of the caller."""

    of = models.CharField("qué y quién", max_length=80)
    at = models.DateTimeField("cuándo", default=timezone.now, db_index=True)

    class Meta:
        verbose_name = "intento"
        verbose_name_plural = "intentos"
        indexes = [models.Index(fields=["of", "at"], name="try_of_at")]

    def __str__(self) -> str:
        return self.of


class CacheEntry(models.Model):
    """A row of Django's cache (`CACHES`), which is a table so that all processes share it. It holds the
    counters of allauth's own rate limits; other limits are in `throttle.py`."""

    cache_key = models.CharField("clave", max_length=255, primary_key=True)
    value = models.TextField("valor")
    expires = models.DateTimeField("caduca", db_index=True)

    class Meta:
        db_table = "cache"
        verbose_name = "entrada de la caché"
        verbose_name_plural = "entradas de la caché"

    def __str__(self) -> str:
        return self.cache_key
