"""API keys `imk_…`: 256 random bits and a checksum, so that a mistyped key is refused without a look-up.

Only the prefix, which names a key, and the SHA-256 are stored.
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
ID_LENGTH = 22


class NewKey(NamedTuple):
    """A new key: the secret is shown once, the prefix and the hash are stored."""

    secret: str
    prefix: str
    sha256: str


def make_key(bits: bytes | None = None) -> NewKey:
    """The key made of these 256 bits; without them, of random bits."""
    number = secrets.randbits(RANDOM_BITS) if bits is None else int.from_bytes(bits)
    body = _base62(number, RANDOM_LENGTH)
    secret = MARK + body + _checksum(body)
    return NewKey(secret, secret[:PREFIX_LENGTH], digest(secret))


def digest(secret: str) -> str:
    """The hexadecimal SHA-256 of a key's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def well_formed(text: str) -> bool:
    """Whether `text` can be a key: its mark, length, alphabet and checksum are right."""
    if len(text) != LENGTH or not text.startswith(MARK) or not text.isascii():
        return False
    body, checksum = text[len(MARK) : -CHECKSUM_LENGTH], text[-CHECKSUM_LENGTH:]
    return secrets.compare_digest(_checksum(body), checksum)


def public_id(mark: str, bits: bytes | None = None) -> str:
    """A public name such as `ws_…`, of 22 characters (130 bits), made of these bits or of random ones."""
    number = secrets.randbits(RANDOM_BITS) if bits is None else int.from_bytes(bits)
    return mark + _base62(number % 62**ID_LENGTH, ID_LENGTH)


def is_public_id(mark: str, text: str) -> bool:
    """Whether `text` can be such a name. If not, there is no need to look it up."""
    body = text.removeprefix(mark)
    return len(body) == ID_LENGTH == len(text) - len(mark) and set(body) <= set(ALPHABET)


def is_prefix(text: str) -> bool:
    """Whether `text` can be the prefix of a key."""
    return len(text) == PREFIX_LENGTH and text.startswith(MARK) and set(text[len(MARK) :]) <= set(ALPHABET)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
