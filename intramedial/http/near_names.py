"""Which known name a misspelt one probably means: `actor_did` and `actor` mean `actorDid`.

Pure. The input comes from strangers, so the work is bounded: long names are compared as they are, without
counting edits.
"""

from collections.abc import Iterable
from difflib import SequenceMatcher

LEAST_PART = 3
"""A name of fewer characters is not searched for inside another one."""
LEAST_RATIO = 0.7
"""How alike two names must be: `difflib`'s ratio, 0 to 1."""
LONGEST = 40
"""Names with more characters than this have no near name."""
SAME = {
    **dict.fromkeys(("agent", "agentdid", "agentid", "holder"), "actordid"),
    "lock": "resource",
}
"""Words that other services use, each with the name that it has here. Both are folded."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name in `known` that `name` probably means, or None if no known name is near."""
    folded = _folded(name)
    if not folded or len(folded) > LONGEST:
        return None
    rated = [(_likeness(folded, _folded(other)), other) for other in known]
    best, other = max(rated, key=lambda pair: pair[0], default=(0.0, ""))
    return other if best >= LEAST_RATIO else None


def _folded(name: str) -> str:
    """The letters and digits of a name in lower case: `actor_did` and `actorDID` are the same."""
    return "".join(character for character in name.casefold() if character.isalnum())


def _likeness(name: str, other: str) -> float:
    if name == other:
        return 1.0
    if SAME.get(name) == other:
        return 0.95
    short, long = sorted((name, other), key=len)
    if len(short) >= LEAST_PART and (long.startswith(short) or long.endswith(short)):
        return 0.9
    return SequenceMatcher(None, name, other, autojunk=False).ratio()
