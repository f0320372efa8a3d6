"""Who may open a page of a workspace: a member with the role it takes. To all others it does not exist."""

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
    """The membership of who asks. Http404 for a workspace that is unknown or not theirs."""
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
    """Whether a member may do what takes that role."""
    return RANKS[Role(membership.role)] >= RANKS[role]


def workspace_page(least: Role = Role.VIEWER) -> Callable[[View], View]:
    """For a view `(request, membership, …)` at an address with `<str:workspace>`, the `ws_…`.

    Without a session: to the log-in and back. Not a member: 404. Too small a role: 403.
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
    """For a view `(request, …)` of somebody with an account. Without a session: to the log-in and back."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), reverse("account_login"))
        return private(view(request, **kwargs))

    return guarded


def private(response: Response) -> Response:
    """Kept by nobody: what is shown is one person's, and there may be a secret in it."""
    response["Cache-Control"] = "private, no-store"
    return response


def hold_as(membership: Membership, least: Role) -> None:
    """Until the transaction ends, nobody else changes the workspace.

    PermissionDenied for a member who was given a smaller role, or taken out, since the page let them in.
    """
    provision.hold(membership.workspace)
    now = Membership.objects.filter(pk=membership.pk).first()
    if now is None or not at_least(now, least):
        raise PermissionDenied


def user_id(request: HttpRequest) -> int:
    """The account of who asks for a page that takes one."""
    assert request.user.pk is not None
    return int(request.user.pk)


def context(membership: Membership) -> dict[str, Any]:
    """What every page of a workspace gives its template: workspace, membership, places (the navigation), may
    (member, owner).
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
    """An entry: the url name it leads to, its words, the least role it is for, and the names of pages below
    it that are marked as this place.
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
    """A place of one workspace: its address, its words, the names of the pages that are marked as it."""

    path: str
    words: Any
    pages: tuple[str, ...]


def path_of(name: str, *arguments: str) -> str:
    """Where a page is; nothing for one that is not mounted."""
    try:
        return reverse(name, args=arguments)
    except NoReverseMatch:
        return ""


def navigation(workspace: str, may: Callable[[Role], bool]) -> list[Link]:
    """The places that `may` opens of the workspace with that `ws_…`. One that is not mounted is left out."""
    found = ((place, path_of(place.name, workspace)) for place in PLACES if may(place.least))
    return [Link(path, place.words, (place.name, *place.below)) for place, path in found if path]


password_again = reauthentication_required
