"""Beta passwords: made here, shown once, kept as a hash."""

import hashlib
import secrets
from datetime import datetime

from intramedial.accounts.models import BetaPassword

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is read as something else
GROUPS, GROUP_LENGTH = 4, 5  # 20 characters of 31: 99 bits


def digest(secret: str) -> str:
    """What is kept of a beta password. It is random and long, so a plain SHA-256 is enough."""
    return hashlib.sha256(secret.strip().lower().encode()).hexdigest()


def assign_secret(password: BetaPassword) -> str:
    """Give `password`, not saved yet, a fresh secret; the answer is the only time it is seen."""
    groups = ["".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS)]
    secret = "-".join(groups)
    password.prefix, password.hash = groups[0], digest(secret)
    return secret


def create(label: str = "", max_uses: int | None = None, expires_at: datetime | None = None) -> str:
    """A new beta password, saved; the answer is the only time it is seen."""
    password = BetaPassword(label=label, max_uses=max_uses, expires_at=expires_at)
    secret = assign_secret(password)
    password.save()
    return secret
