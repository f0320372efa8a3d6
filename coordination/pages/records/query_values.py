"""What an address asks for, and what a shape says, as values; whatever is none of them is left out."""

import re
from datetime import UTC, datetime

from django.http import HttpRequest

from intramedial.identity.did import check_did

NUMBER = re.compile(r"[0-9]{1,18}")
RECEIPT = re.compile(r"rcp_[0-9A-Za-z]{1,60}")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST = 256


def did(request: HttpRequest, name: str) -> str:
    """A DID; empty for what is none."""
    try:
        return check_did(request.GET.get(name, ""))
    except ValueError:
        return ""


def number(request: HttpRequest, name: str) -> int | None:
    """A whole number; None for what is none."""
    given = request.GET.get(name, "")
    return int(given) if NUMBER.fullmatch(given) else None


def text(request: HttpRequest, name: str) -> str:
    """A short text, without control characters, nor spaces at its ends."""
    return CONTROLS.sub("", request.GET.get(name, ""))[:LONGEST].strip()


def instant(wire: str | None) -> datetime | None:
    """An instant as answers have it."""
    return None if wire is None else datetime.fromisoformat(wire)


def epoch(seconds: float | None) -> datetime | None:
    """Seconds since the Unix epoch as an instant; None for none, and for zero, which is no time."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
