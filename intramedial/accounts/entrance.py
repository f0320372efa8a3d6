"""Sign-up and log-in: allauth's views, each try counted by its address before anything is looked at.

See `throttle.py` for what is counted, and for the way past a limit.
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
    """A form whose tries are counted: 429, with what was typed, when none is left."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Look at the form, unless this address has tried too often."""
        form = self.get_form()
        form.wait = self.spend(request)
        response: HttpResponse = super().post(request, *args, **kwargs)
        if any(form.has_error(field, LIMITED) for field in form.errors):
            response.status_code = TOO_MANY_REQUESTS
            if form.wait is not None:
                response["Retry-After"] = str(form.wait.seconds)
        return response

    def spend(self, request: HttpRequest) -> throttle.Wait | None:
        """Count a try of the address; None if it may be made."""
        return throttle.spend(throttle.of_address("address", request), settings.LOGIN_TRIES)


@method_decorator(_secrets, name="dispatch")
class LoginView(Counted, views.LoginView):
    """Log-in."""

    form_class = LoginForm

    def spend(self, request: HttpRequest) -> throttle.Wait | None:
        """Count a try: of the browser if it has tries of its own for this account, else of the address."""
        own = throttle.of_passed(request, request.POST.get("login", ""))
        return super().spend(request) if own is None else throttle.spend(own, settings.LOGIN_TRIES)


@method_decorator(_secrets, name="dispatch")
class SignupView(Counted, views.SignupView):
    """Sign-up."""

    form_class = SignupForm

    def form_valid(self, form: Any) -> HttpResponse:
        """Make the account and go on; what another was faster at is said beside its field."""
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
    """Asks for a link by mail; where none is sent, says how else."""

    form_class = ResetPasswordForm
    extra_context = {"sends_mail": bool(settings.SENDS_MAIL)}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Send the link, to an address with an account or not."""
        if not settings.SENDS_MAIL:
            raise PermissionDenied
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


@require_safe
@never_cache
def reset_link(request: HttpRequest) -> HttpResponse:
    """The link of a mail: what it proves goes into the session, and out of the address. One that proves
    nothing makes no session, so that strangers cannot fill the table."""
    user, _, key = request.GET.get(LINK, "").partition("-")
    known = user if user.isascii() and user.isalnum() else "0"
    if UserTokenForm({"uidb36": known, "key": key}).is_valid():
        request.session[INTERNAL_RESET_SESSION_KEY] = key
    return redirect("account_reset_password_from_key", known, PasswordResetFromKeyView.reset_url_key)


class PasswordResetFromKeyView(views.PasswordResetFromKeyView):
    """The new password, for who came by the link of a mail."""

    form_class = ResetPasswordKeyForm

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it. Whoever came by the link reads the mail of the address, which is confirmed with that; the
        limits on that account do not hold up this browser."""
        response: HttpResponse = super().form_valid(form)
        throttle.pass_lock(self.request, self.reset_user.email)
        for address in EmailAddress.objects.filter(user=self.reset_user, email__iexact=self.reset_user.email):
            address.set_verified()
        return response


class PasswordChangeView(views.PasswordChangeView):
    """Another password, for who knows the one of now."""

    form_class = ChangePasswordForm


class ReauthenticateView(views.ReauthenticateView):
    """The password once more, before what is dangerous."""

    form_class = ReauthenticateForm
