"""Signed requests: RFC 9421 (HTTP Message Signatures) and RFC 9530 (Content-Digest) with Ed25519.

The ``http-message-signatures`` library parses and makes the signature base. This module decides what the
library leaves to its users: which components must be covered, how long a signature is valid, whose key it is,
the body's digest, and an Ed25519 that refuses every key and signature on which strict verifiers could
disagree. :mod:`intramedial.workspaces.authentication.callers` refuses a nonce that was used before.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    HTTPSignatureAlgorithm,
    HTTPSignatureKeyResolver,
    InvalidSignature,
)
from nacl.bindings import crypto_sign_BYTES, crypto_sign_open
from nacl.exceptions import BadSignatureError

from intramedial.http.calls import RequestParts
from intramedial.http.origins import origin
from intramedial.identity.did import did_key_public, is_ed25519

TAG = "intramedial"
WORKSPACE_HEADER = "intramedial-workspace"

MAX_VALIDITY_S = 60
MAX_SKEW_S = 30
MAX_NONCE_LENGTH = 128

# The longest accepted values of the fields that are parsed. They bound the parser's work.
FIELD_LIMITS = {"signature-input": 2048, "signature": 1024, "content-digest": 512, WORKSPACE_HEADER: 128}

_WITHOUT_BODY = ("@method", "@target-uri")
_WITH_BODY = (*_WITHOUT_BODY, "content-type", "content-digest")


class BadSignature(Exception):
    """The request's signature was not accepted. The message tells the caller why."""


@dataclass(frozen=True)
class SignedBy:
    """Who signed a request: the ``did:key``, its 32 bytes, and the nonce, which is kept until ``kept_until``.

    ``kept_until`` is in whole seconds since the Unix epoch. After it the request is refused as too old.
    """

    did: str
    public_key: bytes
    nonce: str
    kept_until: int


def is_signed(parts: RequestParts) -> bool:
    """Whether the request carries either field of a signature."""
    return "signature" in parts.headers or "signature-input" in parts.headers


def verify(parts: RequestParts, *, base_url: str, now: float) -> SignedBy:
    """Who signed the request. Raises :class:`BadSignature`.

    ``base_url`` is the public origin in what callers sign (the request's ``Host`` is not used). ``now`` is in
    seconds since the Unix epoch.
    """
    for name, limit in FIELD_LIMITS.items():
        if len(parts.headers.get(name, "")) > limit:
            raise BadSignature(f"the field {name} is longer than {limit} characters")
    required = _WITH_BODY if parts.body else _WITHOUT_BODY
    if WORKSPACE_HEADER in parts.headers:
        required = (*required, WORKSPACE_HEADER)
    try:
        message = SimpleNamespace(method=parts.method, url=target_uri(parts, base_url), headers=parts.headers)
        results = _Verifier(now).verify(
            message, max_age=None, expect_tag=TAG, require_components=required, body=parts.body
        )
    except (HTTPMessageSignaturesException, ValueError) as error:
        raise BadSignature(str(error)) from error
    if len(results) != 1:
        raise BadSignature(f'exactly one signature may have tag="{TAG}"')
    parameters = results[0].parameters
    return SignedBy(
        did=str(parameters["keyid"]),
        public_key=did_key_public(str(parameters["keyid"])),
        nonce=str(parameters["nonce"]),
        kept_until=int(parameters["expires"]) + MAX_SKEW_S,
    )


def target_uri(parts: RequestParts, base_url: str) -> str:
    """The ``@target-uri`` (RFC 9421, 2.2.2): the public origin, then path and query exactly as they were
    sent.

    ``ValueError`` if they are not ASCII.
    """
    path = parts.raw_path.decode("ascii")
    query = parts.query.decode("ascii")
    return origin(base_url) + path + (f"?{query}" if query else "")


class Ed25519(HTTPSignatureAlgorithm):
    """RFC 9421's ``ed25519`` by libsodium; see :func:`verify_ed25519`."""

    algorithm_id = "ed25519"

    def __init__(self, public_key: bytes = b"", private_key: bytes | None = None):
        self._public_key = public_key

    def verify(self, signature: bytes, message: bytes) -> None:
        """Raise :class:`InvalidSignature` unless the 64 bytes sign the message."""
        if not verify_ed25519(self._public_key, message, signature):
            raise InvalidSignature("the signature does not match the request, or was made by another key")


def verify_ed25519(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether ``signature`` is a strict Ed25519 signature (RFC 8032) under a 32-byte public key.

    libsodium refuses what is not canonical, an R of small order and an R outside the prime-order subgroup.
    This function also refuses a key of mixed order. A signature that passes verifies with and without the
    cofactor, that is, in every correct library. (Lenient ones accept, for any message, a signature that
    anybody can make under the identity.)
    """
    if not is_ed25519(public_key) or len(signature) != crypto_sign_BYTES:
        return False
    try:
        crypto_sign_open(signature + message, public_key)
    except BadSignatureError:
        return False
    return True


class _DidKeys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> bytes:
        try:
            return did_key_public(key_id)
        except ValueError as error:
            raise InvalidSignature(f"keyid {error}") from error


class _Verifier(HTTPMessageVerifier):
    """The library's verifier with this service's rules for time and nonce. ``now`` is passed in."""

    def __init__(self, now: float):
        super().__init__(signature_algorithm=Ed25519, key_resolver=_DidKeys())
        self._now = now

    def validate_created_and_expires(self, sig_input: Any, max_age: Any = None) -> None:
        """Check the signature's parameters. The library calls this before it resolves the key."""
        parameters = sig_input.params
        for name in ("created", "expires", "nonce", "keyid", "alg"):
            if name not in parameters:
                raise InvalidSignature(f'the signature parameter "{name}" is missing')
        if not 1 <= len(parameters["nonce"]) <= MAX_NONCE_LENGTH:
            raise InvalidSignature(f"the nonce must have 1 to {MAX_NONCE_LENGTH} characters")
        check_window(parameters["created"], parameters["expires"], self._now)


def check_window(created: int, expires: int, now: float) -> None:
    """Raise :class:`InvalidSignature` unless ``now`` (seconds) is in the window, plus or minus the skew.

    A wrong clock is the usual reason, so the message has the server's time and the difference.
    """
    if not created < expires <= created + MAX_VALIDITY_S:
        raise InvalidSignature(f'"expires" must be 1 to {MAX_VALIDITY_S} seconds after "created"')
    if created > now + MAX_SKEW_S:
        raise InvalidSignature(
            f'"created" is {created - int(now)} s ahead of {_server_time(now)}: set your clock'
        )
    if now > expires + MAX_SKEW_S:
        raise InvalidSignature(
            f"it expired {int(now) - expires} s before {_server_time(now)}: sign each request anew;"
            " if you did, set your clock"
        )


def _server_time(now: float) -> str:
    return "the server's time, " + datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
