"""Which hosts a request may name, which pages it may come from, and which answers such pages may read.

A signed request (RFC 9421) carries nothing that a browser adds by itself. Any page may send one and read the
answer (CORS, in the Fetch standard), since it must hold the key to do so. A request with an API key stays
closed, since a key does not belong into a page, and so does every other request. Cookies do not count here,
and no answer allows credentials.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from intramedial.http.calls import Headers
from intramedial.http.problems import Problem

PREFIX = "/api/"
PREFLIGHT_S = 600

SENT = (
    *("content-type", "content-digest", "signature", "signature-input"),
    *("intramedial-workspace", "idempotency-key", "prefer"),
)
"""Header fields that a page may send, besides those that need no permission."""

READ = (
    *("x-request-id", "retry-after", "ratelimit", "ratelimit-policy", "www-authenticate"),
    *("preference-applied", "idempotent-replayed", "date"),
)
"""Header fields of the answer that a page may read, besides those that need no permission. From `Date` it
learns by how much its clock is off, on which its signatures depend."""

ANY_ORIGIN = (b"access-control-allow-origin", b"*")
READABLE: Headers = (ANY_ORIGIN, (b"access-control-expose-headers", ", ".join(READ).encode()))


def origin(base_url: str) -> str:
    """Scheme and authority of a URL as browsers write them: lower case, without the scheme's default port."""
    split = urlsplit(base_url)
    authority = split.netloc.lower()
    own_port = {"http": ":80", "https": ":443"}.get(split.scheme, "")
    return f"{split.scheme}://{authority.removesuffix(own_port) if own_port else authority}"


def require_host(headers: Mapping[str, str]) -> None:
    """Raise Problem (421, `forbidden`) for a request to a host that is not this service's, such as a name
    that another site's page has rebound to this machine."""
    name, _ = split_domain_port(headers.get("host", ""))
    if not validate_host(name, settings.ALLOWED_HOSTS):
        problem = Problem("forbidden", f"This service answers at {settings.BASE_URL} and not at this host.")
        problem.status, problem.title = 421, "Misdirected request"
        raise problem


def require_same_origin(headers: Mapping[str, str]) -> None:
    """Raise Problem (`forbidden`) for a request of another site's page. Programs send no `Origin` and may
    pass."""
    given = headers.get("origin")
    if given is None and headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none"):
        return
    if given is None or not _is_own(given, headers.get("host", "")):
        raise Problem("forbidden", f"Only pages of {settings.BASE_URL} may do this.")


def _is_own(given: str, host: str) -> bool:
    if given == origin(settings.BASE_URL):
        return True
    try:
        parts = urlsplit(given)
        own = parts.scheme in ("http", "https") and parts.netloc == host.lower()
        # The host that was asked counts only if it is this service's: a name rebound to this machine is not.
        return own and validate_host(split_domain_port(parts.netloc)[0], settings.ALLOWED_HOSTS)
    except ValueError:
        return False


def is_signed_alone(fields: Mapping[str, str]) -> bool:
    """Whether a request with these header fields (lower-case names) is signed and carries no API key."""
    return ("signature" in fields or "signature-input" in fields) and "authorization" not in fields


def of_refusal(target: bytes, lines: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Further header fields of an answer that the listener gives before the application gets the request,
    which has this target and these header lines (lower-case names). Such an answer reveals nothing about any
    caller, so pages may read it at every path of the API."""
    fields = {name.decode("latin-1"): "" for name, _value in lines}
    return READABLE if target.startswith(PREFIX.encode()) and is_signed_alone(fields) else ()


def preflight(fields: Mapping[str, str], methods: str) -> Headers:
    """What a browser may send to a path that has these methods. Empty if the fields (lower-case names) are
    not those of a preflight, or if the page wants to send an API key."""
    if "origin" not in fields or "access-control-request-method" not in fields:
        return ()
    wanted = fields.get("access-control-request-headers", "").lower().split(",")
    if "authorization" in [name.strip() for name in wanted]:
        return ()
    return (
        ANY_ORIGIN,
        (b"access-control-allow-methods", methods.encode()),
        (b"access-control-allow-headers", ", ".join(SENT).encode()),
        (b"access-control-max-age", str(PREFLIGHT_S).encode()),
    )
