"""Views of sign-up, log-in and passwords. They are allauth's, but count each try before they read the form.

`throttle.py` explains what is counted, and how an owner gets past a limit.
"""

from typing import Any

from allauth.account import views
from allauth.account.forms import UserTokenForm
from allauth.account.models import EmailAddress
from allauth.account.views._password_reset import INTERNAL_RESET_SESSION_KEY
from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe
from django.views.generic.edit import FormView

from intramedial.accounts import beta, throttle
from intramedial.accounts.adapter import LINK
from intramedial.accounts.forms import (
    LIMITED,
    REFUSED,
    ChangePasswordForm,
    LoginForm,
    ReauthenticateForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SignupForm,
)

TOO_MANY_REQUESTS = 429
_secrets = sensitive_post_parameters("password", "password1", "beta_password")


class Counted(FormView):
    """A form whose tries are counted. Status 429, and the form as it was filled in, when no try is left."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the try and process the form; the form refuses itself if no try is left."""
        form = self.get_form()
        form.wait = self.spend(request)
        response: HttpResponse = super().post(request, *args, **kwargs)
        if any(form.has_error(field, LIMITED) for field in form.errors):
            response.status_code = TOO_MANY_REQUESTS
            if form.wait is not None:
                response["Retry-After"] = str(form.wait.seconds)
        return response

    def spend(self, request: HttpRequest) -> throttle.Wait | None:
        """Count a try of the client's address. None if the try is allowed."""
        return throttle.spend(throttle.of_address("address", request), settings.LOGIN_TRIES)


@method_decorator(_secrets, name="dispatch")
class LoginView(Counted, views.LoginView):
    """Log-in."""

    form_class = LoginForm

    def spend(self, request: HttpRequest) -> throttle.Wait | None:
        """Count a try: of the browser if it has its own tries for this account, else of its address."""
        own = throttle.of_passed(request, request.POST.get("login", ""))
        return super().spend(request) if own is None else throttle.spend(own, settings.LOGIN_TRIES)


@method_decorator(_secrets, name="dispatch")
class SignupView(Counted, views.SignupView):
    """Sign-up."""

    form_class = SignupForm

    def form_valid(self, form: Any) -> HttpResponse:
        """Make the account and go on. If a concurrent sign-up took the address or the last use of the beta
        password, show the form with the error beside its field."""
        try:
            response: HttpResponse = super().form_valid(form)
        except beta.Refused as refused:
            form.add_error("beta_password", REFUSED[refused.reason])
            response = self.form_invalid(form)
        except forms.ValidationError as error:
            form.add_error(None, error)
            response = self.form_invalid(form)
        return response


class PasswordResetView(views.PasswordResetView):
    """Mails a link that resets the password. Without mail, the page explains another way."""

    form_class = ResetPasswordForm
    extra_context = {"sends_mail": bool(settings.SENDS_MAIL)}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Send the mail; the answer is the same for addresses without an account."""
        if not settings.SENDS_MAIL:
            raise PermissionDenied
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


@require_safe
@never_cache
def reset_link(request: HttpRequest) -> HttpResponse:
    """Move the secret of a mailed link from the address into the session. An invalid link makes no session,
    so that strangers cannot fill the table of sessions."""
    user, _, key = request.GET.get(LINK, "").partition("-")
    known = user if user.isascii() and user.isalnum() else "0"
    if UserTokenForm({"uidb36": known, "key": key}).is_valid():
        request.session[INTERNAL_RESET_SESSION_KEY] = key
    return redirect("account_reset_password_from_key", known, PasswordResetFromKeyView.reset_url_key)


class PasswordResetFromKeyView(views.PasswordResetFromKeyView):
    """Sets a new password after a mailed link was opened."""

    form_class = ResetPasswordKeyForm

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password. The link came by mail, so the address is confirmed, and this browser gets its own
        tries for the account."""
        response: HttpResponse = super().form_valid(form)
        throttle.pass_lock(self.request, self.reset_user.email)
        for address in EmailAddress.objects.filter(user=self.reset_user, email__iexact=self.reset_user.email):
            address.set_verified()
        return response


class PasswordChangeView(views.PasswordChangeView):
    """Changes the password; asks for the current one."""

    form_class = ChangePasswordForm


class ReauthenticateView(views.ReauthenticateView):
    """Asks for the password again before a dangerous action."""

    form_class = ReauthenticateForm
