"""Lists of the largest tables: found by whole values that an index has, in that index's order, and no other.

A part of a name would be looked for in every row, and so would any value in a column without an index; an
order that is not an index's would sort all that is found. So a list says in which ways it can be searched,
and whatever is asked in another way finds nothing and is told the ways there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from intramedial.web.admin_site import RecordAdmin

# What a word of a search is, by its beginning; what begins otherwise is a name, of several words perhaps.
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
    """A search that an index answers: what is given, and the order in which the index has the rows."""

    given: tuple[str, ...]
    order: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(SHOWN[kind] for kind in self.given)


def understood(query: str) -> dict[str, str]:
    """What a search gives: its words by their kinds."""
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
    """A list in the order of the index that its search goes by."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """That order alone, which is a whole one."""
        model_admin: Any = self.model_admin
        way = model_admin.way(self.query)
        return list(way.order if way is not None else model_admin.order)

    def get_results(self, request: HttpRequest) -> None:
        """A page, even of what would all have room on it when it was counted."""
        super().get_results(request)
        self.result_list = self.result_list[: self.list_per_page]


class IndexedAdmin(RecordAdmin):
    """`ways` to search; `order` of the list that is not searched, by the primary key; `fields_of`: the names
    of the model's columns where they are not the kinds' own."""

    ways: Sequence[Way] = ()
    order: Sequence[str] = ("-pk",)
    fields_of: ClassVar[dict[str, str]] = {}
    sortable_by = ()
    search_fields = ("pk",)  # that there is a search at all

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.search_help_text = f"Se busca el valor entero: {' · '.join(map(str, cls.ways))}"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that knows its order."""
        return IndexedList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """None by the address: it would not be by an index."""
        return False

    def way(self, query: str) -> Way | None:
        """The way in which a search goes; None for one that is empty or has no way."""
        given = understood(query).keys()
        return next((way for way in self.ways if set(way.given) == given), None)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """What is found, without duplicates."""
        given = understood(search_term)
        if not given:
            return queryset, False
        if self.way(search_term) is None:
            self.message_user(request, f"Así no se puede buscar. {self.search_help_text}.", messages.WARNING)
            return queryset.none(), False
        return queryset.filter(
            **{self.fields_of.get(kind, kind): text for kind, text in given.items()}
        ), False
