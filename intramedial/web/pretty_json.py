"""JSON for people: indented by two spaces, with short objects and lists on one line."""

import json
from typing import Any

WIDTH = 64


def pretty(value: Any, width: int = WIDTH) -> str:
    """`value` as JSON. An object or list is on one line if that line is at most `width` characters long. The
    outermost one never is, so that each field of an answer has a line.
    """
    return _lines(value, "", width, outermost=True)


def _lines(value: Any, indent: str, width: int, outermost: bool = False, taken: int = 0) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    nests = isinstance(value, dict | list) and value
    if not nests or (not outermost and len(indent) + taken + len(flat) <= width):
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        names = {key: json.dumps(key, ensure_ascii=False) for key in value}
        parts = [
            f"{inner}{names[key]}: {_lines(item, inner, width, taken=len(names[key]) + 3)}"
            for key, item in value.items()
        ]
        opening, closing = "{", "}"
    else:
        # All items of a list are written in the same way: either each fits on one line, or all are broken.
        fit = all(len(inner) + len(json.dumps(item, ensure_ascii=False)) < width for item in value)
        parts = [f"{inner}{_lines(item, inner, width, outermost=not fit)}" for item in value]
        opening, closing = "[", "]"
    return f"{opening}\n" + ",\n".join(parts) + f"\n{indent}{closing}"
