"""The parts of a request that say who is asking, free of any framework."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)  # not frozen: one is made for each request, which would take several times as long
class RequestParts:
    """A request as it came over the wire.

    ``raw_path`` and ``query`` are the bytes of the request's target, never decoded and encoded again.
    ``headers`` has lower-case names; the lines of a repeated field are joined with ``", "``, in order
    (RFC 9110, section 5.3).
    ``client`` is the address of the peer, for logs.
    """

    method: str
    raw_path: bytes
    query: bytes
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    client: str = ""

    @classmethod
    def from_scope(cls, scope: Mapping[str, Any], body: bytes = b"", client: str = "") -> "RequestParts":
        """The parts of an ASGI ``http`` or ``websocket`` scope (whose method is ``GET``)."""
        return cls(
            method=scope.get("method", "GET"),
            # Servers may leave raw_path out; the path is then the best there is.
            raw_path=scope.get("raw_path") or scope["path"].encode(),
            query=scope.get("query_string", b""),
            headers=join_fields(scope["headers"]),
            body=body,
            client=client or (scope.get("client") or ("",))[0],
        )


def join_fields(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header fields by lower-case name, the lines of a repeated one joined (RFC 9110, section 5.3)."""
    fields: dict[str, str] = {}
    for raw_name, raw_value in lines:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip(" \t")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields
