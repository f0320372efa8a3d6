"""Events of one workspace from several processes, in the order in which they were decided."""

from collections.abc import Iterable

from intramedial.http.formats import Json

REMEMBERED_KEYS = 20_000


class Arrivals:
    """The events of a room that were received and not sent yet, and what is needed to order them."""

    def __init__(self) -> None:
        self._arrived: list[tuple[str, Json]] = []
        self._last: dict[tuple[str, str], tuple[str, str]] = {}

    def __len__(self) -> int:
        return len(self._arrived)

    def add(self, publisher: str, events: Iterable[Json]) -> None:
        """Add events of one publisher, in its order."""
        self._arrived += [(publisher, event) for event in events]

    def take(self) -> tuple[list[Json], bool]:
        """Remove all events and return them in order of decision, with False if that order is not certain."""
        arrived, self._arrived = self._arrived, []
        arrived.sort(key=lambda pair: str(pair[1]["at"]))  # RFC 3339 of one length sorts as time does
        certain = True
        for publisher, event in arrived:
            certain &= self._in_order(publisher, event)
        while len(self._last) > REMEMBERED_KEYS:
            del self._last[next(iter(self._last))]
        return [event for _, event in arrived], certain

    def _in_order(self, publisher: str, event: Json) -> bool:
        keys = [("resource", event["resource"])]
        if "trust" in event:
            keys.append(("trust", event["actorDid"]))
        certain = True
        for key in keys:
            at, whose = self._last.pop(key, ("", publisher))
            certain &= whose == publisher or at < event["at"]
            self._last[key] = (event["at"], publisher)
        return certain
