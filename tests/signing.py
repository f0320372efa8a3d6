"""Agents that sign requests and proofs, for tests.

The ``cryptography`` package makes the signatures, so that libsodium verifies signatures of another
implementation of Ed25519.
"""

import base64
import datetime
import hashlib
import json
import secrets
import time
from types import SimpleNamespace
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms

from intramedial.http.calls import RequestParts
from intramedial.identity.did import did_key_from_public

BASE_URL = "http://127.0.0.1:8000"


class Agent:
    """An agent with its own key; the same name gives the same key."""

    def __init__(self, name: str | None = None):
        seed = hashlib.sha256(name.encode()).digest() if name else secrets.token_bytes(32)
        self.seed = seed
        self.private_key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self.private_key.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        self.did = did_key_from_public(self.public_key)

    def sign(
        self,
        method: str,
        url: str,
        body: bytes = b"",
        *,
        headers: dict[str, str] | None = None,
        created: float | None = None,
        lifetime_s: int = 60,
        nonce: str | None = None,
        components: tuple[str, ...] | None = None,
        key_id: str | None = None,
        tag: str | None = "intramedial",
        label: str = "sig",
    ) -> dict[str, str]:
        """The request's header fields in lower case, with those of its signature."""
        fields = {"content-type": "application/json"} if body else {}
        fields |= headers or {}
        if components is None:
            components = ("@method", "@target-uri", *(("content-type",) if body else ()))
            components += tuple(name for name in fields if name == "intramedial-workspace")
        message = SimpleNamespace(method=method, url=url, headers=fields)
        created = time.time() if created is None else created
        key_id = key_id or self.did
        signer = HTTPMessageSigner(
            signature_algorithm=algorithms.ED25519,
            key_resolver=MappingKeyResolver(public_keys={}, private_keys={key_id: self.private_key}),
        )
        signer.sign(
            message,
            key_id=key_id,
            created=datetime.datetime.fromtimestamp(created, datetime.UTC),
            expires=datetime.datetime.fromtimestamp(created + lifetime_s, datetime.UTC),
            nonce=secrets.token_urlsafe(16) if nonce is None else nonce,
            tag=tag,
            label=label,
            covered_component_ids=components,
            body=body or None,
        )
        return {name.lower(): value for name, value in message.headers.items()}

    def request(
        self, method: str, path: str, body: bytes = b"", *, base_url: str = BASE_URL, **options
    ) -> RequestParts:
        """A signed request; ``path`` may carry a query, ``options`` are those of :meth:`sign`."""
        raw_path, _, query = path.partition("?")
        headers = self.sign(method, base_url + path, body, **options)
        return RequestParts(method, raw_path.encode(), query.encode(), headers, body, "127.0.0.1")

    def jws(self, typ: str, claims: dict[str, Any]) -> str:
        """A compact JWS of the claims (RFC 7515), such as a proof that the agent holds its key."""
        parts = [_base64url(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "typ": typ}, claims)]
        return ".".join([*parts, _base64url(self.private_key.sign(".".join(parts).encode()))])


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
