"""Adapters of django-allauth: who may log in, where a log-in leads, messages, and how mail is sent."""

import logging
import smtplib
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import urlencode, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.functional import lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from intramedial.accounts import beta
from intramedial.accounts.models import User
from intramedial.audit.record import address_of

logger = logging.getLogger(__name__)

LINK = "clave"
"""The parameter in the query of a mailed link that holds the link's secret."""
MESSAGES = {
    "account/messages/password_changed.txt": _("Contraseña cambiada. Las demás sesiones han terminado."),
    "account/messages/email_confirmed.txt": _("Dirección confirmada."),
    "account/messages/email_confirmation_failed.txt": _(
        "Esa dirección ya no se puede confirmar: pertenece a otra cuenta."
    ),
    "account/messages/email_confirmation_sent.txt": _("Te hemos enviado un correo con un enlace."),
    "account/messages/logged_out.txt": _("Has salido."),
    "mfa/messages/totp_activated.txt": _("Verificación en dos pasos activada."),
    "mfa/messages/totp_deactivated.txt": _("Verificación en dos pasos quitada."),
}
"""Our words for allauth's messages, by template. Messages without an entry are not shown."""


def _mismatch() -> str:
    if settings.SENDS_MAIL:
        return gettext(
            "El correo o la contraseña no son esos, o falta abrir el enlace que confirma la dirección. "
            "Poner otra contraseña también la confirma."
        )
    return gettext("El correo o la contraseña no son esos.")


class AccountAdapter(DefaultAccountAdapter):
    """Accounts, whose sessions begin only with a beta password."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "email_password_mismatch": lazy(_mismatch, str)(),
        "email_taken": _("Ya hay una cuenta con esta dirección. Entra con ella."),
        "enter_current_password": _("No es tu contraseña de ahora."),
        "incorrect_password": _("No es tu contraseña."),
        "incorrect_code": _("Ese código no vale. Si es de la aplicación, espera al siguiente."),
        "invalid_password_reset": _("El enlace no vale o ya se ha usado."),
        "too_many_login_attempts": _("Demasiados intentos. Vuelve a probar dentro de una hora."),
        "rate_limited": _("Demasiados intentos. Vuelve a probar dentro de una hora."),
        "same_as_current": _("Es la dirección que ya tienes."),
        "duplicate_email": _("Es la dirección que ya tienes."),
    }

    def login(self, request: HttpRequest, user: Any) -> None:
        """Begin the session of `user`. All sessions begin here, and only with an unrevoked beta password."""
        password = request.session.get(beta.SESSION)
        if not beta.unrevoked([password]):
            messages.error(request, gettext("Tu contraseña de la beta ya no vale. Entra con otra."))
            raise ImmediateHttpResponse(redirect("account_login"))
        super().login(request, user)
        request.session[beta.SESSION] = password

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        """Record which beta password was used; a sign-up has recorded it with the new account."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        if not kwargs["signup"]:
            beta.record_use(request.session[beta.SESSION], user, "login")
        return response

    def get_login_stages(self) -> list[str]:
        """The stages between the right password and the session."""
        return ["allauth.account.stages.EmailVerificationStage", "allauth.mfa.stages.AuthenticateStage"]

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Do nothing: `throttle.py` has counted the try already."""

    def is_ajax(self, request: HttpRequest) -> bool:
        """Always False: all requests come from forms and get pages."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Whether `next` may lead there: only to paths of this origin, written without scheme and host."""
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def clean_email(self, email: str) -> str:
        """The address. ValidationError if it is not ASCII, since such letters can imitate another address; an
        international domain is written as xn--…"""
        if not email.isascii():
            raise ValidationError(
                gettext("Escríbela con letras sin acentos; un dominio internacional, en su forma xn--….")
            )
        return email

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the request comes from, behind trusted proxies; 0.0.0.0 for a Unix socket."""
        return address_of(request) or "0.0.0.0"  # noqa: S104 (stands for no address)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Show the message in our words."""
        words = message or MESSAGES.get(message_template or "")
        if words:
            messages.add_message(request, level, str(words), extra_tags=extra_tags)

    def format_email_subject(self, subject: str) -> str:
        """The subject unchanged: it names the service already."""
        return subject

    def get_reset_password_from_key_url(self, key: str) -> str:
        """The link that resets a password. Its secret is in the query, because queries are never logged."""
        return f"{settings.BASE_URL}{reverse('account_reset_link')}?{urlencode({LINK: key})}"

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """The link that confirms an address."""
        query = urlencode({LINK: emailconfirmation.key})
        return f"{settings.BASE_URL}{reverse('account_confirm_email')}?{query}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send the mail, if mail is configured. A mail server's error is logged and not raised: an error page
        would show for which addresses a mail was due."""
        if not settings.SENDS_MAIL:
            return
        ours = urlsplit(settings.BASE_URL)
        for name, value in context.items():
            if name.endswith("_url"):  # the host of BASE_URL, never the host that the request names
                there = urlsplit(value)._replace(scheme=ours.scheme, netloc=ours.netloc)
                context[name] = there.geturl()
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, smtplib.SMTPException):
            logger.exception("mail not sent: %s", template_prefix)


def confirmed_by_operator(user: User) -> None:
    """Store the address of `user` as confirmed if an operator set it; call this before the log-in.

    A sign-up makes allauth's row of the address. An account made by a command or in the admin, or whose
    address was changed there, has no such row.
    """
    known = EmailAddress.objects.filter(user=user)
    if not known.filter(email__iexact=user.email).exists():
        known.filter(verified=True).delete()
        EmailAddress.objects.create(user=user, email=user.email.lower(), verified=True, primary=True)


def is_confirmed(user: User) -> bool:
    """Whether the address of the account is confirmed."""
    found: bool = EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists()
    return found


class SecondStepAdapter(DefaultMFAAdapter):
    """Verification in two steps. Its secrets are encrypted with a key made of `SECRET_KEY`."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("Ese código no vale. Si es de la aplicación, espera al siguiente."),
    }

    def encrypt(self, text: str) -> str:
        """The encrypted secret, as the database stores it."""
        return _fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """The secret in clear."""
        return _fernet().decrypt(encrypted_text.encode()).decode()


def _fernet() -> Fernet:
    key = salted_hmac("intramedial.second-step", settings.SECRET_KEY, algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(key))
