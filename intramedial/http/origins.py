"""Which pages a request may come from, and to which hosts."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from intramedial.http.problems import Problem


def origin(base_url: str) -> str:
    """Scheme and authority of a URL as browsers write them: lower case, without the scheme's own port."""
    split = urlsplit(base_url)
    authority = split.netloc.lower()
    own_port = {"http": ":80", "https": ":443"}.get(split.scheme, "")
    return f"{split.scheme}://{authority.removesuffix(own_port) if own_port else authority}"


def require_host(headers: Mapping[str, str]) -> None:
    """Problem (421, `forbidden`) for a request to a host that is none of ours, such as a name that a page of
    another site has had rebound to this machine.
    """
    name, _ = split_domain_port(headers.get("host", ""))
    if not validate_host(name, settings.ALLOWED_HOSTS):
        problem = Problem("forbidden", f"This service answers at {settings.BASE_URL} and not at this host.")
        problem.status, problem.title = 421, "Misdirected request"
        raise problem


def require_same_origin(headers: Mapping[str, str]) -> None:
    """Problem (`forbidden`) for a request of another site's page. Programs send no `Origin`, and may pass."""
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
        # The host served counts only if it is one of ours: a name rebound to this machine is not.
        return own and validate_host(split_domain_port(parts.netloc)[0], settings.ALLOWED_HOSTS)
    except ValueError:
        return False
