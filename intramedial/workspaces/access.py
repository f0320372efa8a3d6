"""Who may open a page of a workspace, and the navigation between its pages.

A page is open to members with the role that it requires. For all others the workspace does not exist.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from intramedial.workspaces import keys, provision
from intramedial.workspaces.models import Membership

Role = Membership.Role
RANKS = {Role.VIEWER: 0, Role.MEMBER: 1, Role.OWNER: 2}

Response = TypeVar("Response", bound=HttpResponseBase)
View = Callable[..., HttpResponseBase]


def membership_of(request: HttpRequest, public_id: str) -> Membership:
    """The membership of the person who sends `request`. Http404 if the workspace does not exist, or the
    person is not a member."""
    if not keys.is_public_id("ws_", public_id):
        raise Http404("no name of a workspace")
    found = (
        Membership.objects.select_related("workspace", "user")
        .filter(workspace__public_id=public_id, user=request.user.pk)
        .first()
    )
    if found is None:
        raise Http404("no such workspace, or not yours")
    return found


def at_least(membership: Membership, role: Role) -> bool:
    """Whether a member has that role or a greater one."""
    return RANKS[Role(membership.role)] >= RANKS[role]


def workspace_page(least: Role = Role.VIEWER) -> Callable[[View], View]:
    """Decorate a view `(request, membership, …)` at an address with `<str:workspace>`, the `ws_…`.

    A request without a session is sent to the log-in and back. A person who is not a member gets 404, a
    member with a smaller role than `least` gets 403.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, workspace: str, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path(), reverse("account_login"))
            membership = membership_of(request, workspace)
            if not at_least(membership, least):
                raise PermissionDenied
            return private(view(request, membership, **kwargs))

        return guarded

    return decorate


def person_page(view: View) -> View:
    """Decorate a view `(request, …)` that needs a log-in session; without one, go to the log-in and back."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), reverse("account_login"))
        return private(view(request, **kwargs))

    return guarded


def private(response: Response) -> Response:
    """Forbid caches to store the response: it is for one person, and may show a secret."""
    response["Cache-Control"] = "private, no-store"
    return response


def hold_as(membership: Membership, least: Role) -> None:
    """Lock the workspace until the transaction ends, and check the member's role again.

    PermissionDenied if the member was given a smaller role, or removed, since the request was let in.
    """
    provision.hold(membership.workspace)
    now = Membership.objects.filter(pk=membership.pk).first()
    if now is None or not at_least(now, least):
        raise PermissionDenied


def user_id(request: HttpRequest) -> int:
    """The account's number of a request that has a session."""
    assert request.user.pk is not None
    return int(request.user.pk)


def context(membership: Membership) -> dict[str, Any]:
    """The part of a template's context that all pages of a workspace share: workspace, membership, places
    (the navigation), may (member, owner).
    """
    workspace = membership.workspace
    return {
        "workspace": workspace,
        "membership": membership,
        "places": navigation(workspace.public_id, partial(at_least, membership)),
        "may": {"member": at_least(membership, Role.MEMBER), "owner": at_least(membership, Role.OWNER)},
    }


@dataclass(frozen=True)
class Place:
    """An entry of the navigation: the name of its URL, its text, the least role that sees it, and the names
    of the pages below it, on which it is marked as the current one.
    """

    name: str
    words: Any
    least: Role = Role.VIEWER
    below: tuple[str, ...] = ()


PLACES = (
    Place("workspace", _("Resumen")),
    Place("board", _("Panel"), below=("board_resource",)),
    Place("agents", _("Agentes"), below=("agent",)),
    Place("receipts", _("Recibos"), below=("receipt",)),
    Place("usage", _("Uso")),
    Place("keys", _("Claves"), below=("key_rotate", "key_revoke")),
    Place("signers", _("Firmas"), below=("signer_revoke",)),
    Place("members", _("Miembros"), below=("member", "invitation")),
    Place("audit", _("Auditoría"), Role.OWNER),
    Place("workspace_settings", _("Ajustes"), below=("workspace_delete",)),
)


@dataclass(frozen=True)
class Link:
    """A place of one workspace: its address, its text, and the names of the pages on which it is marked."""

    path: str
    words: Any
    pages: tuple[str, ...]


def path_of(name: str, *arguments: str) -> str:
    """The address of a page; an empty text if it is not mounted."""
    try:
        return reverse(name, args=arguments)
    except NoReverseMatch:
        return ""


def navigation(workspace: str, may: Callable[[Role], bool]) -> list[Link]:
    """The places of a workspace, given by its `ws_…`, that `may` allows and that are mounted."""
    found = ((place, path_of(place.name, workspace)) for place in PLACES if may(place.least))
    return [Link(path, place.words, (place.name, *place.below)) for place, path in found if path]


reauthenticated = reauthentication_required
"""Decorates a view that does something dangerous: it asks for the password first, unless the person typed it
in the last minutes (`REAUTHENTICATION_S`).

    @workspace_page(Role.OWNER)      # who may open the page
    @reauthenticated
    def delete(request, membership): ...

Put it below the decorator that decides who may open the page, so that other persons get their 404 or 403
first. A form that is sent after those minutes is stored while the password is asked for, and processed after
it. So such a form must not carry a secret.

In tests: `people.session_of(user, password_again=True)`.
"""
