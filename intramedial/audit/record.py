"""Writing the audit log. An act and its entry belong in one transaction: call `act` inside it."""

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
    """Add an entry for an act, such as `workspace.renamed`.

    The account and the address are those of `request`, which is None for a command. `by` is the account if
    the request has none: before a log-in, after a log-out. `detail` holds a few values of JSON's types, no
    secrets.
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
    """The address of the client, behind trusted proxies."""
    return client_address(
        request.META.get("REMOTE_ADDR", ""),
        request.META.get("HTTP_X_FORWARDED_FOR", ""),
        settings.TRUSTED_PROXIES,
    )
