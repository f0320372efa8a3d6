"""Names of resources: what is refused, which mode a name asks for."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from .model import Mode

READ_SAFE_CLASSES = frozenset({"doc", "file", "data", "config"})
_SUFFIXES = {"read": Mode.SHARED, "write": Mode.EXCLUSIVE, "delete": Mode.EXCLUSIVE}
MAX_NAME = 256
# Characters that make a name look like another one: bidi controls and what has no width.
_DECEPTIVE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufeff\uffa0"
)


def normal_name(text: str) -> str:
    """A resource's name as asked for, in NFC. Raises ValueError with words for one that is refused."""
    if text.isascii():
        if not text.isprintable():
            raise ValueError("must not contain control characters")
    else:
        text = unicodedata.normalize("NFC", text)
        for char in text:
            if char in _DECEPTIVE or "\ufff9" <= char <= "\ufffb":
                raise ValueError("must not contain bidirectional or zero-width characters")
            if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or "\U000e0000" <= char <= "\U000e0fff":
                raise ValueError("must not contain control or surrogate characters")
    if not 1 <= len(text) <= MAX_NAME:
        raise ValueError(f"must have 1 to {MAX_NAME} characters")
    if text != text.strip():
        raise ValueError("must not begin or end with white space")
    return text


def parse_resource(text: str, classes: Mapping[str, str] | None = None) -> tuple[str, Mode]:
    """The base name and the mode that a requested name asks for.

    `class:name#read` is shared when the class is read-safe, else exclusive; `#write`, `#delete` and no suffix
    are exclusive. `classes` is the workspace's own table, `{class: "shared" | "exclusive"}`, before the
    defaults. Raises ValueError with words for a name that is refused.
    """
    name = normal_name(text)
    base, mark, suffix = name.partition("#")
    if not mark:
        return name, Mode.EXCLUSIVE
    if "#" in suffix or not base or suffix not in _SUFFIXES:
        raise ValueError(
            "may end in #read, #write or #delete after a name; write %23 for a # that belongs to the name"
        )
    if base != base.strip():
        raise ValueError("must not have white space before #")
    return base, _SUFFIXES[suffix] if _read_safe(base, classes) else Mode.EXCLUSIVE


def _read_safe(base: str, classes: Mapping[str, str] | None) -> bool:
    prefix, colon, _ = base.partition(":")
    if not colon:
        return False
    own = classes.get(prefix) if classes else None
    return own == Mode.SHARED if own is not None else prefix in READ_SAFE_CLASSES
