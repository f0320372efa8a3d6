"""Decentralized identifiers: the syntax of W3C DID Core 1.0, section 3.1, and ``did:key``.

A ``did:key`` is a public key written as text: ``z`` (multibase: base58btc), then the key's multicodec prefix
and its bytes (https://w3c-ccg.github.io/did-key-spec/). Agents sign with Ed25519. The other key types of that
specification may be an ``actorDid``, but cannot sign.
"""

import re
from functools import lru_cache
from typing import Annotated

from nacl.bindings import crypto_core_ed25519_is_valid_point
from pydantic import AfterValidator, Field

MAX_DID_LENGTH = 256

_ID_CHAR = r"[A-Za-z0-9._-]|%[0-9A-Fa-f]{2}"
_DID = re.compile(rf"did:[a-z0-9]+:(?:{_ID_CHAR}|:)*(?:{_ID_CHAR})")

_DID_KEY = "did:key:"
_ED25519_PREFIX = b"\xed\x01"
_ED25519_DID_LENGTH = 56

# The multicodec prefix (an unsigned varint), the name, the length of the key in bytes. The keys of the NIST
# curves and of secp256k1 are compressed points, of odd length, whose first byte is 2 or 3.
_KEY_TYPES = (
    (_ED25519_PREFIX, "Ed25519", 32),
    (b"\xec\x01", "X25519", 32),
    (b"\xe7\x01", "secp256k1", 33),
    (b"\x80\x24", "P-256", 33),
    (b"\x81\x24", "P-384", 49),
    (b"\x82\x24", "P-521", 67),
    (b"\xeb\x01", "BLS12-381 G2", 96),
)

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}


@lru_cache(maxsize=16_384)  # decoding a did:key and checking its point costs more than the rest of a request
def check_did(text: str) -> str:
    """Return ``text`` if it is a DID of at most ``MAX_DID_LENGTH`` characters. ``ValueError`` with words if
    not.

    A ``did:key`` must also decode to a key of a known type, and an Ed25519 key must be usable for signatures.
    """
    if len(text) > MAX_DID_LENGTH:
        raise ValueError(f"a DID has at most {MAX_DID_LENGTH} characters")
    if not _DID.fullmatch(text):
        raise ValueError(
            "not a DID: write did:<method>:<id>, as in did:key:z6Mk… (W3C DID Core, section 3.1)"
        )
    if text.startswith(_DID_KEY):
        _decode_did_key(text)
    return text


Did = Annotated[
    str,
    AfterValidator(check_did),
    Field(
        description="An agent's DID (W3C DID Core). A `did:key` must decode to a key of a known type.",
        examples=["did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"],
        json_schema_extra={"maxLength": MAX_DID_LENGTH, "pattern": "^did:[a-z0-9]+:.+$"},
    ),
]
"""The shape of a DID in requests and answers."""


@lru_cache(maxsize=4096)
def did_key_public(did: str) -> bytes:
    """The 32 bytes of the Ed25519 key that a ``did:key:z6Mk…`` names. ``ValueError`` with words otherwise.

    The key is a canonical encoding of a point of the prime-order subgroup. Under a key of small order (the
    identity is one) anybody can make signatures that lenient verifiers accept, so such keys are refused.
    """
    # The length is checked first: base58 takes quadratic time, so it gets no long text.
    if len(did) != _ED25519_DID_LENGTH or not did.startswith("did:key:z6Mk"):
        raise ValueError("must be an Ed25519 key written as did:key:z6Mk… (56 characters)")
    return _decode_did_key(did)


def did_key_from_public(public_key: bytes) -> str:
    """The ``did:key`` of a 32-byte Ed25519 public key. ``ValueError`` if the key is not usable."""
    did = _DID_KEY + "z" + base58_encode(_ED25519_PREFIX + public_key)
    did_key_public(did)
    return did


def _decode_did_key(did: str) -> bytes:
    encoded = did[len(_DID_KEY) :]
    if not encoded.startswith("z"):
        raise ValueError("a did:key begins with did:key:z (base58btc)")
    try:
        decoded = base58_decode(encoded[1:])
    except ValueError as error:
        raise ValueError(f"not a did:key: {error}") from None
    for prefix, name, length in _KEY_TYPES:
        if decoded.startswith(prefix):
            key = decoded[len(prefix) :]
            if len(key) != length or (length % 2 and key[0] not in (2, 3)):
                raise ValueError(f"not a did:key: a key of type {name} is written in {length} bytes")
            if prefix == _ED25519_PREFIX:
                check_ed25519(key)
            return key
    known = ", ".join(name for _, name, _ in _KEY_TYPES)
    raise ValueError(f"a did:key must decode to a known key type ({known})")


def check_ed25519(public_key: bytes) -> None:
    """Raise ``ValueError`` with words unless :func:`is_ed25519`."""
    if not is_ed25519(public_key):
        raise ValueError(
            "not a usable Ed25519 key: it must be the canonical encoding of a curve point of prime order"
            " (small-order keys, such as the identity, are refused: anybody could sign for them)"
        )


@lru_cache(maxsize=4096)
def is_ed25519(public_key: bytes) -> bool:
    """Whether the bytes are, in canonical form, a point of prime order on edwards25519."""
    return len(public_key) == 32 and crypto_core_ed25519_is_valid_point(public_key)


def base58_encode(data: bytes) -> str:
    """Base58 with Bitcoin's alphabet (draft-msporny-base58-03); leading zero bytes are written as ``1``."""
    number = int.from_bytes(data)
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def base58_decode(text: str) -> bytes:
    """The inverse of :func:`base58_encode`. ``ValueError`` for longer texts than a DID, and for other
    characters.

    It accepts only what :func:`base58_encode` writes.
    """
    if len(text) > MAX_DID_LENGTH:
        raise ValueError("the base58 text is too long")
    number = 0
    for character in text:
        if character not in _DIGITS:
            raise ValueError("it is not base58btc")
        number = number * 58 + _DIGITS[character]
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8)
