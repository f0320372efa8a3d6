"""API keys `imk_…`: 256 random bits and a checksum, so that a mistyped key costs no look-up.

Only the prefix (to name a key by) and the SHA-256 (to find it by) are kept.
"""

import hashlib
import secrets
import string
import zlib
from typing import NamedTuple

MARK = "imk_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_BITS = 256
RANDOM_LENGTH = 43  # digits of base 62 that hold 256 bits
CHECKSUM_LENGTH = 6  # digits of base 62 that hold a CRC-32
LENGTH = len(MARK) + RANDOM_LENGTH + CHECKSUM_LENGTH
PREFIX_LENGTH = len(MARK) + 8


class NewKey(NamedTuple):
    """A key just made: the secret is shown once, the rest is kept."""

    secret: str
    prefix: str
    sha256: str


def make_key() -> NewKey:
    """A fresh key."""
    body = _base62(secrets.randbits(RANDOM_BITS), RANDOM_LENGTH)
    secret = MARK + body + _checksum(body)
    return NewKey(secret, secret[:PREFIX_LENGTH], digest(secret))


def digest(secret: str) -> str:
    """The hexadecimal SHA-256 a key is found by."""
    return hashlib.sha256(secret.encode()).hexdigest()


def well_formed(text: str) -> bool:
    """True if `text` can be a key: mark, length, alphabet and checksum are right."""
    if len(text) != LENGTH or not text.startswith(MARK) or not text.isascii():
        return False
    body, checksum = text[len(MARK) : -CHECKSUM_LENGTH], text[-CHECKSUM_LENGTH:]
    return secrets.compare_digest(_checksum(body), checksum)


def public_id(mark: str) -> str:
    """A fresh public name, such as `ws_` and 22 characters (130 bits)."""
    return mark + "".join(secrets.choice(ALPHABET) for _ in range(22))


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
