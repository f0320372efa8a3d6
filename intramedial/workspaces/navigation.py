"""The pages of a workspace, in the order of its navigation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from intramedial.workspaces.models import Membership

Role = Membership.Role


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


def entries(workspace: str, may: Callable[[Role], bool]) -> list[Link]:
    """The places that `may` opens of the workspace with that `ws_…`. One that is not mounted is left out."""
    found = ((place, path_of(place.name, workspace)) for place in PLACES if may(place.least))
    return [Link(path, place.words, (place.name, *place.below)) for place, path in found if path]
