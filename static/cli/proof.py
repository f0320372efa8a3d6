#!/usr/bin/env python3
"""Proves to a workspace that you have an agent's key. Needs `pip install cryptography`.

    python3 proof.py agent.pem --workspace ws_… --url https://api.intramedial.com

Makes the key in agent.pem (Ed25519, readable only by its owner) if there is none. Prints its DID and the
proof, which is valid for a minute. Paste both into the workspace's page.
"""

import argparse
import base64
import json
import os
import sys
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ED25519 = b"\xed\x01"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def load(path: str) -> Ed25519PrivateKey:
    """The key in a file; makes the file if there is none."""
    if not os.path.exists(path):
        made = Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(made)
    with open(path, "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)
    if not isinstance(key, Ed25519PrivateKey):
        raise SystemExit(f"{path} holds another kind of key than Ed25519.")
    return key


def did_of(key: Ed25519PrivateKey) -> str:
    """The did:key of a key."""
    public = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    number, text = int.from_bytes(ED25519 + public, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "did:key:z" + text


def proof(key: Ed25519PrivateKey, workspace: str, url: str) -> str:
    """A compact JWS (RFC 7515, EdDSA) that proves possession of the key, for one workspace, at this time."""
    header = {"alg": "EdDSA", "typ": "intramedial-agent+jwt"}
    claims = {"did": did_of(key), "workspace": workspace, "aud": url.rstrip("/"), "iat": int(time.time())}
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    return f"{text}.{base64url(key.sign(text.encode()))}"


def base64url(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def main() -> None:
    """Print the DID and the proof."""
    parser = argparse.ArgumentParser(description="Prove to a workspace that you have an agent's key.")
    parser.add_argument("file", help="the agent's key, as PEM; made if there is none")
    parser.add_argument("--workspace", required=True, help="the workspace's ws_…")
    parser.add_argument("--url", default="https://api.intramedial.com", help="the service")
    options = parser.parse_args()
    key = load(options.file)
    sys.stdout.write(f"{did_of(key)}\n{proof(key, options.workspace, options.url)}\n")


if __name__ == "__main__":
    main()
