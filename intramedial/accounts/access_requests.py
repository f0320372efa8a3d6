"""Requests for access to the beta: a form on a page; operators answer the requests in the admin."""

import logging
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from intramedial.accounts import throttle
from intramedial.accounts.adapter import AccountAdapter
from intramedial.accounts.entrance import TOO_MANY_REQUESTS
from intramedial.accounts.forms import email_field
from intramedial.accounts.models import AccessRequest
from intramedial.databases import disk
from intramedial.workspaces import names

logger = logging.getLogger(__name__)

UNAVAILABLE = 503
LONGEST_ABOUT = 1000
MOST = 10_000
"""Most requests that are stored. Anybody can write one, of up to five kilobytes, and it stays for months."""


class AccessForm(forms.Form):
    """An address, a name, and what the access is for."""

    email = email_field()
    name = forms.CharField(label=_("Nombre"), max_length=names.MAX_NAME, required=False)
    name.widget.attrs["autocomplete"] = "name"
    about = forms.CharField(
        label=_("Para qué lo quieres"),
        max_length=LONGEST_ABOUT,
        help_text=_("Basta con una frase: qué harán tus agentes, y cuántos son."),
        widget=forms.Textarea(attrs={"rows": 5}),
    )

    def clean_email(self) -> str:
        """The address in the form in which addresses are stored."""
        return AccountAdapter().clean_email(self.cleaned_data["email"].lower())

    def clean_name(self) -> str:
        """An empty text, or a name by the rules of `names.normal`."""
        name: str = self.cleaned_data["name"]
        return names.normal(name) if name else ""

    def clean_about(self) -> str:
        """The text in lines, without invisible characters."""
        text = str(self.cleaned_data["about"]).replace("\r\n", "\n")
        shown = "".join(char for char in text if char == "\n" or char.isprintable()).strip()
        if not shown:
            raise forms.ValidationError(gettext("Escribe para qué lo quieres."))
        return shown


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Show the form and store the request. A second request for the same address replaces the first."""
    form = AccessForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if disk.low() or AccessRequest.objects.count() >= MOST:
            return _full(request, form)
        wait = throttle.spend(throttle.of_address("access", request), settings.ACCESS_REQUESTS)
        if wait is None:
            _store(form.cleaned_data)
            return redirect("access_request_sent")
        form.add_error(None, wait.words)
        answer = render(request, "account/access.html", {"form": form}, status=TOO_MANY_REQUESTS)
        answer["Retry-After"] = str(wait.seconds)
        return answer
    return render(request, "account/access.html", {"form": form})


@require_safe
def sent(request: HttpRequest) -> HttpResponse:
    """The page after a request was stored."""
    return render(request, "account/access_sent.html")


def _full(request: HttpRequest, form: AccessForm) -> HttpResponse:
    form.add_error(None, gettext("Ahora no podemos guardar más peticiones. Vuelve a probar mañana."))
    answer = render(request, "account/access.html", {"form": form}, status=UNAVAILABLE)
    answer["Retry-After"] = "86400"
    return answer


def _store(fields: dict[str, Any]) -> None:
    AccessRequest.objects.update_or_create(
        email=fields["email"],
        defaults={
            "name": fields["name"],
            "about": fields["about"],
            "language": get_language() or settings.LANGUAGE_CODE,
            "created_at": timezone.now(),
            "answered_at": None,
        },
    )
    if AccessRequest.objects.count() == MOST:
        logger.error("there are %s requests for access to the beta, and no more are taken: answer some", MOST)
