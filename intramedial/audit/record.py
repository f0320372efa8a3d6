"""Writing the audit log. An act and its entry go into the same transaction: call this inside it."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from intramedial.audit.models import Entry
from intramedial.http.addresses import client_address


def act(
    request: HttpRequest | None,
    action: str,
    *,
    workspace: str = "",
    target: str = "",
    by: Any = None,
    **detail: Any,
) -> None:
    """Note an act: `action` as in `workspace.renamed`; `request` says who and from where, None for a command.

    `by` is the account where the request does not say it: before log-in, after log-out. `detail` is small, of
    JSON's types, and without secrets.
    """
    user = by if by is not None else getattr(request, "user", None)
    Entry.objects.create(
        workspace=workspace,
        actor=user.pk if user is not None and user.is_authenticated else None,
        action=action,
        target=target[:300],
        detail=detail,
        address=address_of(request) if request is not None else "",
    )


def address_of(request: HttpRequest) -> str:
    """The address of the one who asks, through trusted proxies alone."""
    return client_address(
        request.META.get("REMOTE_ADDR", ""),
        request.META.get("HTTP_X_FORWARDED_FOR", ""),
        settings.TRUSTED_PROXIES,
    )
