"""The pages of an account: its name, its address, its sessions, its deletion."""

from typing import Any

from allauth.account import views
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.mfa.adapter import get_adapter as second_step
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from intramedial.accounts import deletion, throttle
from intramedial.accounts.adapter import LINK
from intramedial.accounts.entrance import TOO_MANY_REQUESTS
from intramedial.accounts.forms import DeleteAccountForm, email_field
from intramedial.accounts.models import User
from intramedial.audit import record
from intramedial.workspaces import names
from intramedial.workspaces.access import reauthenticated

LONGEST_NUMBER = 18
NEW_ADDRESSES_PER_HOUR = 5
page = require_http_methods(["GET", "HEAD", "POST"])


class NameForm(forms.Form):
    """The name that other members see beside the address."""

    name = forms.CharField(label=_("Nombre"), max_length=names.MAX_NAME, required=False)
    name.help_text = _("Lo ven los demás miembros de tus espacios, junto a tu correo.")

    def clean_name(self) -> str:
        """An empty text, or a name by the rules of `names.normal`."""
        name: str = self.cleaned_data["name"]
        return names.normal(name) if name else ""


class EmailForm(forms.Form):
    """The new address."""

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.fields["email"] = email_field()
        self.fields["email"].label = _("Correo nuevo")

    def clean_email(self) -> str:
        """An address other than the current one. If mail is sent, the form does not show whether another
        account has the address: its owner gets a mail instead."""
        email = get_adapter().clean_email(self.cleaned_data["email"].lower())
        if email == self.user.email.lower():
            raise get_adapter().validation_error("same_as_current")
        if not settings.SENDS_MAIL and _taken(email, self.user):
            raise get_adapter().validation_error("email_taken")
        return str(email)


def _user(request: HttpRequest) -> User:
    """The account of a request with a session."""
    assert request.user.is_authenticated
    return request.user


def _taken(email: str, user: User) -> bool:
    return (
        User.objects.filter(email__iexact=email).exclude(pk=user.pk).exists()
        or EmailAddress.objects.filter(email__iexact=email).exclude(user=user).exists()
    )


@page
@never_cache
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """The overview of an account, and the form for its name."""
    user = _user(request)
    form = NameForm(request.POST if request.method == "POST" else None, initial={"name": user.name})
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            User.objects.filter(pk=user.pk).update(name=form.cleaned_data["name"])
            record.act(request, "account.renamed")
        messages.success(request, gettext("Guardado."))
        return redirect("account")
    context = {
        "form": form,
        "second_step": second_step().is_mfa_enabled(user, ["totp"]),
        "pending": EmailAddress.objects.get_new(user) if settings.SENDS_MAIL else None,
        "sessions": len(UserSession.objects.purge_and_list(user)),
    }
    return render(request, "account/account.html", context)


@page
@never_cache
@login_required
@reauthenticated
def email(request: HttpRequest) -> HttpResponse:
    """Change the address. If mail is sent, the new address is used once it is confirmed. Since each change
    mails the typed address, changes are limited per hour."""
    user = _user(request)
    form = EmailForm(request.POST if request.method == "POST" else None, user=user)
    wait = None
    if request.method == "POST" and form.is_valid():
        wait = throttle.spend(f"address of {user.pk}", NEW_ADDRESSES_PER_HOUR)
        if wait is None:
            if settings.SENDS_MAIL:
                EmailAddress.objects.add_new_email(request, user, form.cleaned_data["email"])
            else:
                _change_address(request, user, form.cleaned_data["email"])
            return redirect("account_email")
        form.add_error("email", wait.words)
    context = {"form": form, "pending": EmailAddress.objects.get_new(user) if settings.SENDS_MAIL else None}
    answer = render(request, "account/email.html", context, status=TOO_MANY_REQUESTS if wait else 200)
    if wait is not None:
        answer["Retry-After"] = str(wait.seconds)
    return answer


def _change_address(request: HttpRequest, user: User, address: str) -> None:
    try:
        with transaction.atomic():
            EmailAddress.objects.filter(user=user).delete()
            EmailAddress.objects.create(user=user, email=address, primary=True)
            user.email = address
            user.save(update_fields=["email"])
            record.act(request, "account.email_changed")
    except IntegrityError:  # a concurrent request took the address
        messages.error(request, str(get_adapter().error_messages["email_taken"]))
    else:
        messages.success(request, gettext("Dirección cambiada."))


class ConfirmEmailView(views.ConfirmEmailView):
    """Confirms an address by a mailed link, unless another account has taken the address meanwhile."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the secret of the link from the query."""
        super().setup(request, *args, key=request.GET.get(LINK, ""), **kwargs)

    def post(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Confirm the address."""
        try:
            with transaction.atomic():
                response: HttpResponse = super().post(*args, **kwargs)
                return response
        except IntegrityError:
            get_adapter().add_message(
                self.request, messages.ERROR, "account/messages/email_confirmation_failed.txt"
            )
            return redirect("account_login")


@page
@never_cache
@login_required
def sessions(request: HttpRequest) -> HttpResponse:
    """The sessions of the account. The form ends one of them, or all but the current one."""
    user = _user(request)
    mine = UserSession.objects.filter(user=user)
    if request.method == "POST":
        number = request.POST.get("session", "")
        others = mine.exclude(session_key=request.session.session_key)
        if number:
            known = number.isdecimal() and len(number) <= LONGEST_NUMBER
            ended = [get_object_or_404(others, pk=int(number) if known else 0)]
        else:
            ended = list(others)
        for session in ended:
            with transaction.atomic():
                session.end()
                record.act(request, "account.session_ended")
        messages.success(request, gettext("Sesión terminada.") if number else gettext("Sesiones terminadas."))
        return redirect("account_sessions")
    found = sorted(UserSession.objects.purge_and_list(user), key=lambda one: one.last_seen_at)
    listed = [
        {
            "pk": one.pk,
            "browser": browser_name(one.user_agent),
            "address": one.ip,
            "since": one.created_at,
            "seen": one.last_seen_at,
            "current": one.session_key == request.session.session_key,
        }
        for one in reversed(found)
    ]
    return render(request, "account/sessions.html", {"sessions": listed})


@page
@never_cache
@login_required
@reauthenticated
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the account, once its address is typed."""
    user = _user(request)
    form = DeleteAccountForm(request.POST if request.method == "POST" else None, user=user)
    if request.method == "POST" and form.is_valid():
        try:
            deletion.delete(request, User.objects.get(pk=user.pk))
        except deletion.StillNeeded:
            return redirect("account_delete")
        request.session.flush()
        messages.success(request, gettext("Tu cuenta está borrada."))
        return redirect("home")
    context = {
        "form": form,
        "left_without_owner": deletion.left_without_owner(user),
        "without_others": deletion.without_others(user),
        "last_administrator": deletion.is_last_administrator(user),
    }
    return render(request, "account/delete.html", context)


# The first word found decides, because most browsers name older browsers too.
BROWSERS = (
    *(("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox")),
    *(
        ("CriOS", "Chrome"),
        ("Chrome", "Chrome"),
        ("Safari", "Safari"),
        ("curl", "curl"),
        ("python", "Python"),
    ),
)
SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Macintosh", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


def browser_name(user_agent: str) -> str:
    """The browser's name from its User-Agent, as in «Firefox en Linux»."""
    browser = next((words for sign, words in BROWSERS if sign in user_agent), "")
    system = next((words for sign, words in SYSTEMS if sign in user_agent), "")
    if browser and system:
        return gettext("%(browser)s en %(system)s") % {"browser": browser, "system": system}
    return browser or system or gettext("Un programa que no dice cuál es")
