"""Values from the query of an address and from answers. A wrong value counts as a missing one."""

import re
from datetime import UTC, datetime

from django.http import HttpRequest

from intramedial.identity.did import check_did

NUMBER = re.compile(r"[0-9]{1,18}")
RECEIPT = re.compile(r"rcp_[0-9A-Za-z]{1,60}")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST = 256


def did(request: HttpRequest, name: str) -> str:
    """The parameter `name` as a DID; empty if it is none."""
    try:
        return check_did(request.GET.get(name, ""))
    except ValueError:
        return ""


def number(request: HttpRequest, name: str) -> int | None:
    """The parameter `name` as a whole number; None if it is none."""
    given = request.GET.get(name, "")
    return int(given) if NUMBER.fullmatch(given) else None


def text(request: HttpRequest, name: str) -> str:
    """The parameter `name` as a short text, without control characters and without spaces at its ends."""
    return CONTROLS.sub("", request.GET.get(name, ""))[:LONGEST].strip()


def instant(wire: str | None) -> datetime | None:
    """An instant of an answer; None for None. Raises ValueError for a text that is none."""
    return None if wire is None else datetime.fromisoformat(wire)


def epoch(seconds: float | None) -> datetime | None:
    """Seconds since the Unix epoch as an instant; None for None and for zero, which stands for no time."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
