"""The forms of what goes over the wire: JSON objects, base64url and RFC 3339."""

import binascii
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

Json = dict[str, Any]
"""A JSON object: its members by name."""

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = bytes.maketrans(b"-_", b"+/")


def base64url(data: bytes) -> bytes:
    """Base64url without padding (RFC 7515, section 2), as ASCII."""
    return binascii.b2a_base64(data, newline=False).translate(_URL_SAFE).rstrip(b"=")


def from_base64url(text: str) -> bytes:
    """The inverse of `base64url`. ValueError for any text that `base64url` does not write."""
    try:
        written = text.encode("ascii")
        data = binascii.a2b_base64(written.translate(_PLAIN) + b"=" * (-len(written) % 4))
    except ValueError:
        raise ValueError("it is not base64url") from None
    # Python's decoder skips foreign characters and ignores spare bits, so a value would have many spellings.
    if base64url(data) != written:
        raise ValueError("it is not base64url")
    return data


def rfc3339(at: datetime) -> str:
    """An aware datetime in UTC with milliseconds, as in `2026-12-01T23:59:59.999Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def rfc3339_of_ms(ms: int) -> str:
    """The same of milliseconds since the Unix epoch. Quick: what instants of one second share is kept."""
    seconds, rest = divmod(ms, 1000)
    return f"{_to_the_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=4096)  # as many seconds as a page of leases may show
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
