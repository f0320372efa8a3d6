"""Which answers of the API a page of another origin may read (CORS, in the Fetch standard).

A signed request (RFC 9421) carries nothing that a browser adds by itself. Any page may send one and read the
answer, since it must hold the key to do so. A request with an API key stays closed, for a key does not belong
into a page, and so does every other request. Cookies do not count here, and no answer allows credentials.
"""

from collections.abc import Iterable, Mapping

from intramedial.http.calls import Headers

PREFIX = "/api/"
PREFLIGHT_S = 600

ASKED = (
    *("content-type", "content-digest", "signature", "signature-input"),
    *("intramedial-workspace", "idempotency-key", "prefer"),
)
"""Header fields that a page may send, besides those that need no permission."""

READ = (
    *("x-request-id", "retry-after", "ratelimit", "ratelimit-policy", "www-authenticate"),
    *("preference-applied", "idempotent-replayed", "date"),
)
"""Header fields of the answer that a page may read, besides those that need no permission. `Date` tells it by
how much its clock is off, on which its signatures depend."""

ANY_ORIGIN = (b"access-control-allow-origin", b"*")
READABLE: Headers = (ANY_ORIGIN, (b"access-control-expose-headers", ", ".join(READ).encode()))


def is_signed_alone(fields: Mapping[str, str]) -> bool:
    """Whether a request with these header fields (lower-case names) is signed and carries no API key."""
    return ("signature" in fields or "signature-input" in fields) and "authorization" not in fields


def of_refusal(target: bytes, lines: Iterable[tuple[bytes, bytes]]) -> Headers:
    """What an answer has besides that the listener gives to a request with this target and these header lines
    (lower-case names), before the application sees it. Such an answer says nothing of anybody, so it may be
    read at every path of the API."""
    fields = {name.decode("latin-1"): "" for name, _value in lines}
    return READABLE if target.startswith(PREFIX.encode()) and is_signed_alone(fields) else ()


def preflight(fields: Mapping[str, str], methods: str) -> Headers:
    """What a browser may send to a path that has these methods. Nothing if the fields (lower-case names) are
    not those of a preflight, or if it asks for an API key."""
    if "origin" not in fields or "access-control-request-method" not in fields:
        return ()
    asked = fields.get("access-control-request-headers", "").lower().split(",")
    if "authorization" in [name.strip() for name in asked]:
        return ()
    return (
        ANY_ORIGIN,
        (b"access-control-allow-methods", methods.encode()),
        (b"access-control-allow-headers", ", ".join(ASKED).encode()),
        (b"access-control-max-age", str(PREFLIGHT_S).encode()),
    )
