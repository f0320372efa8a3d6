"""Names of resources: which are refused, and which mode a name asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from .model import Mode

READ_SAFE_CLASSES = frozenset({"doc", "file", "data", "config"})
_SUFFIXES = {"read": Mode.SHARED, "write": Mode.EXCLUSIVE, "delete": Mode.EXCLUSIVE}
MAX_NAME = 256
# Characters that make a name look like another one: those that are invisible, with the controls of direction
# (Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt), and annotations.
_DECEPTIVE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def normal_name(text: str) -> str:
    """The requested name of a resource in NFC. Raises ValueError, with the reason, for one that is
    refused."""
    if text.isascii():
        if not text.isprintable():
            raise ValueError("must not contain control characters")
    else:
        text = unicodedata.normalize("NFC", text)
        if _DECEPTIVE.search(text):
            raise ValueError("must not contain bidirectional or zero-width characters")
        if any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in text):
            raise ValueError("must not contain control or surrogate characters")
    if not 1 <= len(text) <= MAX_NAME:
        raise ValueError(f"must have 1 to {MAX_NAME} characters")
    if text != text.strip():
        raise ValueError("must not begin or end with white space")
    return text


def parse_resource(text: str, classes: Mapping[str, str] | None = None) -> tuple[str, Mode]:
    """The base name and the mode that a requested name asks for.

    `class:name#read` is shared when the class is read-safe, else exclusive; `#write`, `#delete` and no suffix
    are exclusive. `classes` is the workspace's own table, `{class: "shared" | "exclusive"}`, which goes
    before the defaults. Raises ValueError, with the reason, for a name that is refused.
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
