"""What a receipt says, read without looking at its signature: see `checking.py` for that."""

import json
from typing import Any

from intramedial.receipts.checking import decoded

Json = dict[str, Any]


def header_of(jws: str) -> Json:
    """A receipt's header; empty for what is none."""
    return _part(jws, 0)


def claims_of(jws: str) -> Json:
    """A receipt's claims; empty for what is none."""
    return _part(jws, 1)


def resource_of(claims: Json) -> str:
    """The base name of the resource that a receipt is about; empty if the receipt does not name it.

    Receipts have a claim for it. Older ones name the resource in their result alone, or not at all.
    """
    claimed = claims.get("resource")
    if isinstance(claimed, str):
        return claimed
    result = claims.get("result")
    if not isinstance(result, dict):
        return ""
    for part in result.values():
        if isinstance(part, dict) and "resource" in part:
            return str(part["resource"])
    cycle = result.get("cycle")
    if isinstance(cycle, list) and cycle and isinstance(cycle[0], dict):
        return str(cycle[0].get("waitsFor", ""))
    return ""


def _part(jws: str, number: int) -> Json:
    try:
        found = json.loads(decoded(jws.split(".")[number]))
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}
