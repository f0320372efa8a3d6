"""Instants as text on the wire."""

from datetime import datetime


def rfc3339(at: datetime) -> str:
    """An instant in UTC by RFC 3339, with milliseconds and `Z`: 2026-01-31T10:00:00.000Z."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
