"""What django-allauth asks of us: who may log in, where to, in which words, and how mail is sent."""

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
from intramedial.audit.record import address_of

logger = logging.getLogger(__name__)

LINK = "clave"
"""Under what name the query of a mail's link has what it proves."""
SAID = {
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
"""What allauth's messages say here; the others are not worth a word."""


def _mismatch() -> str:
    if settings.SENDS_MAIL:
        return gettext(
            "El correo o la contraseña no son esos, o falta abrir el enlace que confirma la dirección. "
            "Poner otra contraseña también la confirma."
        )
    return gettext("El correo o la contraseña no son esos.")


class AccountAdapter(DefaultAccountAdapter):
    """Accounts behind the beta gate."""

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
        """Begin the session of `user`: the one place where sessions begin, and only behind the gate."""
        password = request.session.get(beta.SESSION)
        if not beta.unrevoked([password]):
            messages.error(request, gettext("Tu contraseña de la beta ya no vale. Entra con otra."))
            raise ImmediateHttpResponse(redirect("account_login"))
        super().login(request, user)
        request.session[beta.SESSION] = password

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        """Note with which beta password; that of a sign-up is noted where the account is made."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        if not kwargs["signup"]:
            beta.note(request.session[beta.SESSION], user, "login")
        return response

    def get_login_stages(self) -> list[str]:
        """What stands between the right password and the session."""
        return ["allauth.account.stages.EmailVerificationStage", "allauth.mfa.stages.AuthenticateStage"]

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Tries are counted before this, in `throttle.py`."""

    def is_ajax(self, request: HttpRequest) -> bool:
        """There are forms and pages, nothing else."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Where `next` may lead: to addresses of this very origin, written without it."""
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def clean_email(self, email: str) -> str:
        """ValidationError for an address that shows as another: an international domain is written xn--…"""
        if not email.isascii():
            raise ValidationError(
                gettext("Escríbela con letras sin acentos; un dominio internacional, en su forma xn--….")
            )
        return email

    def get_client_ip(self, request: HttpRequest) -> str:
        """Where the request comes from, through trusted proxies alone; of a Unix socket, nowhere."""
        return address_of(request) or "0.0.0.0"  # noqa: S104 (an address that is none)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Say it in our words."""
        words = message or SAID.get(message_template or "")
        if words:
            messages.add_message(request, level, str(words), extra_tags=extra_tags)

    def format_email_subject(self, subject: str) -> str:
        """As it stands: it names the service itself."""
        return subject

    def get_reset_password_from_key_url(self, key: str) -> str:
        """The link of a mail; what it proves is in its query, which no log has."""
        return f"{settings.BASE_URL}{reverse('account_reset_link')}?{urlencode({LINK: key})}"

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """The same, to confirm an address."""
        query = urlencode({LINK: emailconfirmation.key})
        return f"{settings.BASE_URL}{reverse('account_confirm_email')}?{query}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send it, if mail is configured. A server that does not take it does not fail the page: the answer
        would tell for which addresses mail was to be sent."""
        if not settings.SENDS_MAIL:
            return
        ours = urlsplit(settings.BASE_URL)
        for name, value in context.items():
            if name.endswith("_url"):  # never what the request says that the host is
                there = urlsplit(value)._replace(scheme=ours.scheme, netloc=ours.netloc)
                context[name] = there.geturl()
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, smtplib.SMTPException):
            logger.exception("mail not sent: %s", template_prefix)


def confirmed_by_operator(user: Any) -> None:
    """Before `user` logs in: an address that an operator gave an account needs no confirming.

    Those of sign-ups are rows of allauth from the start. An account made by a command or in the admin, or
    whose address was changed there, has no row of that address.
    """
    known = EmailAddress.objects.filter(user=user)
    if not known.filter(email__iexact=user.email).exists():
        known.filter(verified=True).delete()
        EmailAddress.objects.create(user=user, email=user.email.lower(), verified=True, primary=True)


def is_confirmed(user: Any) -> bool:
    """Whether somebody has shown that they read the mail of the account's address."""
    found: bool = EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists()
    return found


class SecondStepAdapter(DefaultMFAAdapter):
    """Verification in two steps. Its secrets are encrypted with a key made of `SECRET_KEY`."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("Ese código no vale. Si es de la aplicación, espera al siguiente."),
    }

    def encrypt(self, text: str) -> str:
        """What is kept in the database."""
        return _fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """The secret again."""
        return _fernet().decrypt(encrypted_text.encode()).decode()


def _fernet() -> Fernet:
    key = salted_hmac("intramedial.second-step", settings.SECRET_KEY, algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(key))
