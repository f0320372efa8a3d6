"""Proofs, signed as agents sign them."""

import base64
import json
from typing import Any

from tests.signing import Agent


def signed(agent: Agent, typ: str, claims: dict[str, Any]) -> str:
    """A compact JWS of the claims."""
    text = f"{_part({'alg': 'EdDSA', 'typ': typ})}.{_part(claims)}"
    return f"{text}.{_base64url(agent.private_key.sign(text.encode()))}"


def _part(value: dict[str, Any]) -> str:
    return _base64url(json.dumps(value).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
