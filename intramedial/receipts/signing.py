"""The keys that sign receipts: compact JWS (RFC 7515) with EdDSA over Ed25519 (RFC 8037).

A key is made at first use and kept in ``DATA_DIR/keys``. Every process reads that directory again when keys
are needed, at most once a second, so a rotation needs no restart. A new key is published at once and signs
from ``PUBLISH_AHEAD_S`` later, so that no reader gets a receipt whose key is missing from its copy of the
published keys. Every key stays published, since receipts are checked long after they were signed.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from nacl.bindings import crypto_sign, crypto_sign_BYTES, crypto_sign_keypair, crypto_sign_seed_keypair

from intramedial.http.formats import base64url, from_base64url
from intramedial.receipts import keyfiles

logger = logging.getLogger(__name__)

HEADER_TYPE = "intramedial-receipt+jwt"
CACHED_S = 30
"""How long readers may keep the published keys (``max-age``), in seconds."""
PUBLISH_AHEAD_S = 2 * CACHED_S
"""How long a new key is published before it signs. By then every reader has replaced its copy."""
REREAD_S = 1.0

Jwk = dict[str, Any]


class Signer:
    """One signing key. Its private half is not in its ``repr`` and is never given out."""

    __slots__ = ("_header", "_secret", "kid", "public_jwk", "signs_from")

    def __init__(self, seed: bytes, signs_from: float = 0.0):
        public, self._secret = crypto_sign_seed_keypair(seed)
        x = base64url(public).decode()
        self.kid = thumbprint(x)
        self.signs_from = signs_from
        self.public_jwk: Jwk = {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": x,
            "kid": self.kid,
            "use": "sig",
            "alg": "EdDSA",
        }
        header = {"alg": "EdDSA", "typ": HEADER_TYPE, "kid": self.kid}
        self._header = base64url(json.dumps(header, separators=(",", ":")).encode()) + b"."

    def __repr__(self) -> str:
        return f"<Signer {self.kid}>"

    def __reduce__(self) -> str:
        raise TypeError("a signing key is not copied")

    def sign(self, claims: bytes) -> str:
        """The compact JWS whose payload is exactly ``claims``. The same bytes always give the same JWS."""
        signing_input = self._header + base64url(claims)
        signature = crypto_sign(signing_input, self._secret)[:crypto_sign_BYTES]
        return (signing_input + b"." + base64url(signature)).decode("ascii")


class KeyRing:
    """The keys in one directory; safe between threads.

    ``clock`` returns seconds since the Unix epoch, like ``signs_from``.
    """

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time):
        self._directory = directory
        self._clock = clock
        self._lock = threading.Lock()
        self._signers: dict[str, Signer] = {}  # by file name, oldest first
        self._bad: set[str] = set()
        self._read_at = float("-inf")

    def current(self) -> Signer:
        """The key that signs now, which is made if there is no file. ``KeyFileError`` if all files are
        bad."""
        signers = self.signers()
        now = self._clock()
        return next((signer for signer in reversed(signers) if signer.signs_from <= now), signers[0])

    def by_kid(self, kid: str) -> Signer:
        """The key with this thumbprint. ``KeyError`` if it is not one of this service."""
        # Keys never change, so the directory is read only for an unknown thumbprint.
        for signers in (self._signers.values, self.signers):
            for signer in signers():
                if signer.kid == kid:
                    return signer
        raise KeyError(kid)

    def signers(self) -> list[Signer]:
        """All keys, oldest first; at least one."""
        now = self._clock()
        # abs(): a clock that was set back must not stop the reading.
        if abs(now - self._read_at) >= REREAD_S or not self._signers:
            with self._lock:
                self._read_at = now
                self._read()
        return list(self._signers.values())

    def rotate(self, publish_ahead_s: float = PUBLISH_AHEAD_S) -> Signer:
        """Make and return a key that is published now and signs ``publish_ahead_s`` seconds later."""
        self.signers()  # makes the first key, if this is a rotation before anything was signed
        seed, signs_from = new_seed(), self._clock() + publish_ahead_s
        keyfiles.add(self._directory, _to_jwk(seed, signs_from))
        self._read_at = float("-inf")
        return Signer(seed, signs_from)

    def _read(self) -> None:
        present = keyfiles.names(self._directory)
        if not present and not self._signers:
            # If another process was first with number 1, its key is read below and this one is dropped.
            keyfiles.add(self._directory, _to_jwk(new_seed(), 0.0), number=1)
            present = keyfiles.names(self._directory)
        # Files are never changed, so each is read once. The key of a deleted file stays: it has signed
        # receipts.
        for name in present:
            if name not in self._signers and name not in self._bad:
                self._add(name)
        if not self._signers:
            raise keyfiles.KeyFileError(f"no file in {self._directory} holds a usable signing key")

    def _add(self, name: str) -> None:
        try:
            signer = _from_jwk(self._directory / name)
        except keyfiles.KeyFileError as error:
            # One bad file must not make the good keys unusable.
            logger.error("signing key left out: %s", error)
            self._bad.add(name)
        else:
            self._signers = dict(sorted({**self._signers, name: signer}.items()))


def new_seed() -> bytes:
    """32 random bytes, the private key of RFC 8032."""
    return crypto_sign_keypair()[1][:32]


def thumbprint(x: str) -> str:
    """The RFC 7638 thumbprint of an Ed25519 key, from its JWK member ``x`` (RFC 8037, appendix A.3)."""
    return base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest()).decode()


def _to_jwk(seed: bytes, signs_from: float) -> Jwk:
    return {
        **Signer(seed).public_jwk,
        "d": base64url(seed).decode(),
        "signs_from": signs_from,
    }


def _from_jwk(file: Path) -> Signer:
    document = keyfiles.read(file)
    try:
        signer = Signer(from_base64url(document["d"]), float(document["signs_from"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise keyfiles.KeyFileError(f"{file} is not an Ed25519 JWK of this service") from None
    if signer.public_jwk["x"] != document.get("x"):
        raise keyfiles.KeyFileError(f"{file}: its private and public key do not belong together")
    return signer


_rings: dict[Path, KeyRing] = {}


def ring() -> KeyRing:
    """The keys of this installation, in ``DATA_DIR/keys``."""
    data_dir = settings.DATA_DIR
    # setdefault: two threads that come first at the same time get the same ring.
    return _rings.get(data_dir) or _rings.setdefault(data_dir, KeyRing(data_dir / "keys"))


def forget() -> None:
    """Forget the keys that were read."""
    _rings.clear()


def current() -> Signer:
    """The key that signs now; see :meth:`KeyRing.current`."""
    return ring().current()


def by_kid(kid: str) -> Signer:
    """The key of this service with this thumbprint. ``KeyError`` if it is not one of this service."""
    return ring().by_kid(kid)


def jwks() -> dict[str, list[Jwk]]:
    """The published keys (RFC 7517, section 5): every key that ever signed or will sign, newest first."""
    return {"keys": [signer.public_jwk for signer in reversed(ring().signers())]}


def rotate() -> str:
    """Publish a new key, which signs ``PUBLISH_AHEAD_S`` seconds later, and return its ``kid``."""
    return ring().rotate().kid
