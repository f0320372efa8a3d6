"""Text forms of the wire: base64url without padding (RFC 7515, section 2) and instants (RFC 3339, in UTC)."""

import binascii
from base64 import b64decode, urlsafe_b64encode
from datetime import UTC, datetime


def base64url(data: bytes) -> str:
    """`data` as base64url, without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def base64url_decoded(text: str) -> bytes:
    """The bytes that `base64url` wrote as `text`. Raises ValueError for any other text.

    The same bytes have several spellings that a lenient decoder accepts; only the one of `base64url` is.
    """
    try:
        data = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeError):
        data = None
    if data is None or base64url(data) != text:
        raise ValueError("not base64url")
    return data


def instant(at: datetime) -> str:
    """An aware `at` as answers have it: in UTC, cut to milliseconds, with `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def from_instant(text: str) -> datetime:
    """The aware datetime of an instant of an answer. Raises ValueError for a text that is none."""
    return datetime.fromisoformat(text)
