"""Forms of sign-up, log-in and accounts. Those with a beta password check it before any other field."""

from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.account.utils import setup_user_email
from django import forms
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import password_validators_help_text_html
from django.db import IntegrityError, transaction
from django.forms.utils import ErrorDict
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from intramedial.accounts import beta, throttle
from intramedial.accounts.adapter import confirmed_by_operator, is_confirmed
from intramedial.accounts.models import BetaPassword, BetaUse, User
from intramedial.audit import record

REFUSED = {
    "unknown": _("Esa contraseña de la beta no es ninguna de las nuestras."),
    "revoked": _("Esa contraseña de la beta se ha revocado. Pide otra."),
    "expired": _("Esa contraseña de la beta ha caducado. Pide otra."),
    "used_up": _("A esa contraseña de la beta no le quedan registros. Pide otra."),
}
LIMITED = "limited"
"""The code of the error of a form when no try is left."""
LONGEST_PASSWORD = 1024


def email_field() -> forms.EmailField:
    """The field for an e-mail address on all forms."""
    widget = forms.EmailInput(attrs={"autocomplete": "email", "spellcheck": "false"})
    return forms.EmailField(label=_("Correo electrónico"), max_length=254, widget=widget)


def password_field(label: Any, autocomplete: str, help_text: Any = "") -> forms.CharField:
    """The field for a password; a page never repeats what was typed in it."""
    return forms.CharField(
        label=label,
        strip=False,
        max_length=LONGEST_PASSWORD,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": autocomplete}),
    )


def beta_field() -> forms.CharField:
    """The field for a beta password. It is no personal secret, so it is shown while it is typed."""
    return forms.CharField(
        label=_("Contraseña de la beta"),
        max_length=200,
        help_text=lazy(render_to_string, str)("account/beta-help.html"),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )


class Gated(forms.Form):
    """A form with a beta password, which is checked before the fields that depend on an account.

    `admission` is the valid beta password, None before the check. The view sets `wait` if no try is left.
    """

    sign_up = False
    wait: throttle.Wait | None = None
    admission: BetaPassword | None = None

    def full_clean(self) -> None:
        """Check all fields, or none if no try is left."""
        if self.wait is None:
            super().full_clean()
        else:
            self._errors = ErrorDict()
            self.cleaned_data = {}
            self.add_error(None, self.no_try_left(self.wait))

    @property
    def closed(self) -> bool:
        """Whether no valid beta password was given. It is the first field that is checked."""
        return self.admission is None

    def visible_fields(self) -> list[Any]:
        """The fields in the order of the page, where the beta password comes last."""
        first, *others = super().visible_fields()
        return [*others, first]

    def clean_beta_password(self) -> str:
        """Check the beta password and keep it as `admission`."""
        secret: str = self.cleaned_data["beta_password"]
        try:
            self.admission = beta.check(secret, sign_up=self.sign_up)
        except beta.Refused as refused:
            raise forms.ValidationError(REFUSED[refused.reason], refused.reason) from None
        return secret

    def no_try_left(self, wait: throttle.Wait) -> forms.ValidationError:
        """The error of a form whose try was refused; it says when to try again."""
        return forms.ValidationError(wait.words, LIMITED)

    def require_try(self, wait: throttle.Wait | None) -> None:
        """ValidationError if `wait` is given, that is, if the try was refused."""
        if wait is not None:
            self.wait = wait
            raise self.no_try_left(wait)


def _way_past() -> str:
    """Explains to an account's owner how to log in although no try is left."""
    if settings.SENDS_MAIL:
        return gettext(
            "Si es tu cuenta, pide el enlace de «He olvidado la contraseña»: después entras sin esperar."
        )
    return gettext("Si es tu cuenta, quien administra el servicio puede desbloquearla.")


class LoginForm(Gated, allauth_forms.LoginForm):
    """Log-in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"] = email_field()
        self.fields["password"] = password_field(_("Contraseña"), "current-password")
        self.fields["beta_password"] = beta_field()
        self.order_fields(["beta_password", "login", "password"])

    def no_try_left(self, wait: throttle.Wait) -> forms.ValidationError:
        """The error says when to try again, and how the owner can log in before that."""
        return forms.ValidationError(f"{wait.words} {_way_past()}", LIMITED)

    def _clean_with_password(self, credentials: dict[str, Any]) -> Any:
        email = credentials["email"]
        self.require_try(throttle.spend_on_account(self.request, email))
        try:
            cleaned = super()._clean_with_password(credentials)
            confirmed_by_operator(self.user)
            if settings.SENDS_MAIL and not is_confirmed(self.user):
                # The same error as for a wrong password: otherwise a person who signed up with somebody
                # else's address could find out whether that made an account.
                raise get_adapter().validation_error("email_password_mismatch")
        except forms.ValidationError:
            # An address without an account gets an entry too, so that both answers take the same time.
            user = User.objects.filter(email__iexact=email).first()
            assert self.admission is not None
            record.act(self.request, "account.login_failed", by=user, beta=self.admission.prefix)
            raise
        throttle.succeed(self.request, email)
        return cleaned

    def login(self, request: HttpRequest, redirect_url: str | None = None) -> HttpResponse:
        """Continue with the stages of the log-in, which end in the session."""
        assert self.admission is not None
        request.session[beta.SESSION] = self.admission.pk
        response: HttpResponse = super().login(request, redirect_url)
        return response


class SignupForm(Gated, allauth_forms.SignupForm):
    """Sign-up."""

    sign_up = True
    clean: Any  # that of allauth, which gives it no type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"] = email_field()
        self.fields["password1"] = password_field(
            _("Contraseña"), "new-password", password_validators_help_text_html()
        )
        self.fields["beta_password"] = beta_field()
        self.order_fields(["beta_password", "email", "password1"])

    def validate_unique_email(self, value: str) -> str:
        """Check that the address is free; skipped without a valid beta password."""
        if self.closed:
            return value
        # Each of these tries may send a mail to the address.
        self.require_try(throttle.spend(throttle.of_account("sign-up", value), settings.LOGIN_TRIES))
        email: str = super().validate_unique_email(value)
        return email

    def try_save(self, request: HttpRequest) -> tuple[Any, HttpResponse | None]:
        """Make the account. Raises beta.Refused.

        If the address has an account already, its owner gets a mail, and the page gives the same answer in
        the same time: it hashes a password and counts a use of the beta password too.
        """
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
            self._claim()
        found: tuple[Any, HttpResponse | None] = super().try_save(request)
        return found

    def save(self, request: HttpRequest) -> Any:
        """Store the account, its address, the use of the beta password and the entry of the audit log in one
        transaction. ValidationError if the address was taken meanwhile; beta.Refused."""
        assert self.admission is not None
        adapter, email = get_adapter(), self.cleaned_data["email"]
        user: Any = adapter.new_user(request)
        adapter.save_user(request, user, self, commit=False)  # hashes the password, outside the transaction
        try:
            with transaction.atomic():
                self._claim()
                user.save()
                setup_user_email(request, user, [EmailAddress(email=email)])
                beta.record_use(self.admission.pk, user, BetaUse.Kind.SIGNUP)
                record.act(request, "account.signed_up", by=user, beta=self.admission.prefix)
        except IntegrityError:  # a concurrent request has made the account
            raise forms.ValidationError({"email": adapter.error_messages["email_taken"]}) from None
        request.session[beta.SESSION] = self.admission.pk
        return user

    def _claim(self) -> None:
        assert self.admission is not None
        beta.claim(self.admission)


class NewPassword(forms.Form):
    """A new password, typed twice and checked by the rules."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        checked: Any = self.fields["password1"]
        checked.label = _("Contraseña nueva")
        field: Any
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.max_length = LONGEST_PASSWORD
            if name != "password1":
                field.help_text = ""
        self.fields["password2"].label = _("Otra vez")


class ChangePasswordForm(NewPassword, allauth_forms.ChangePasswordForm):
    """The old password, and the new one twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = _("Contraseña de ahora")


class ResetPasswordKeyForm(NewPassword, allauth_forms.ResetPasswordKeyForm):
    """The new password twice, after a mailed link was opened."""


class ResetPasswordForm(allauth_forms.ResetPasswordForm):
    """The address that the link is mailed to."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"] = email_field()


class ReauthenticateForm(allauth_forms.ReauthenticateForm):
    """The password again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"] = password_field(_("Tu contraseña"), "current-password")


class DeleteAccountForm(forms.Form):
    """The address of the account, typed."""

    email = forms.CharField(
        label=_("Escribe la dirección de la cuenta"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_email(self) -> str:
        """ValidationError if it is not the account's address."""
        email: str = self.cleaned_data["email"]
        if email.strip().lower() != self.user.email.lower():
            raise forms.ValidationError(gettext("No es la dirección de esta cuenta."))
        return email
