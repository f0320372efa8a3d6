"""Lists of the largest tables in the admin, which are searched and sorted by indexes only.

A search for a part of a value, or in a column without an index, would read every row; an order without an
index would sort all rows found. So a list names the ways in which it can be searched. A search in another way
finds nothing, and a message names the possible ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from intramedial.web.admin_site import RecordAdmin

# The kind of a word in a search, by its first characters. All other words together are the name of a
# resource.
KINDS = {"ws_": "workspace", "did:": "agent", "rcp_": "receipt_id", "lse_": "lease_id"}
NAME = "resource"
SHOWN = {
    "workspace": "ws_…",
    "agent": "did:…",
    "receipt_id": "rcp_…",
    "lease_id": "lse_…",
    NAME: "recurso",
}


@dataclass(frozen=True)
class Way:
    """A search that an index answers: the kinds of the given words, and the order of the index."""

    given: tuple[str, ...]
    order: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(SHOWN[kind] for kind in self.given)


def words_by_kind(query: str) -> dict[str, str]:
    """The words of a search by their kinds."""
    given: dict[str, str] = {}
    name = []
    for word in query.split(" "):
        kind = next((kind for beginning, kind in KINDS.items() if word.startswith(beginning)), NAME)
        if kind is NAME or kind in given:
            name.append(word)
        else:
            given[kind] = word
    if rest := " ".join(name).strip():
        given[NAME] = rest
    return given


class IndexedList(ChangeList):
    """A list in the order of the index that its search uses."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """The order of the index, to which Django must add nothing: it is total."""
        model_admin: Any = self.model_admin
        way = model_admin.way(self.query)
        return list(way.order if way is not None else model_admin.order)

    def get_results(self, request: HttpRequest) -> None:
        """The rows of the page. Rows may be added after the count, so the page is cut to its length."""
        super().get_results(request)
        self.result_list = self.result_list[: self.list_per_page]


class IndexedAdmin(RecordAdmin):
    """The admin of such a list.

    `ways` are the searches, `order` is the order without a search, and `fields_of` gives the column of a kind
    if it has another name.
    """

    ways: Sequence[Way] = ()
    order: Sequence[str] = ("-pk",)
    fields_of: ClassVar[dict[str, str]] = {}
    sortable_by = ()
    search_fields = ("pk",)  # Django shows a search only if there are some

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.search_help_text = f"Se busca el valor entero: {' · '.join(map(str, cls.ways))}"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The class of the list."""
        return IndexedList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Always False: a filter in the address would not use an index."""
        return False

    def way(self, query: str) -> Way | None:
        """The way of a search; None if it is empty or there is no such way."""
        given = words_by_kind(query).keys()
        return next((way for way in self.ways if set(way.given) == given), None)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The rows found, and False, because they have no duplicates."""
        given = words_by_kind(search_term)
        if not given:
            return queryset, False
        if self.way(search_term) is None:
            self.message_user(request, f"Así no se puede buscar. {self.search_help_text}.", messages.WARNING)
            return queryset.none(), False
        return queryset.filter(
            **{self.fields_of.get(kind, kind): text for kind, text in given.items()}
        ), False
