"""The arguments of a tool, validated."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel

from intramedial.identity.principal import Principal
from intramedial.routes import invalid, validated

MOST_NAMES = 5
SHOWN_NAME = 80


def read(shape: type[BaseModel], given: dict[str, Any], caller: Principal) -> Any:
    """What was given, as `shape`. Raises Problem (`invalid_request`)."""
    if shape.model_config.get("extra") == "forbid":
        known = [field.alias or name for name, field in shape.model_fields.items()]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise invalid(*_faults(unknown, known))
    return validated(shape, given, caller)


def _faults(unknown: list[str], known: list[str]) -> Iterable[tuple[str, str]]:
    """Each unknown name as (JSON pointer, what is wrong)."""
    for name in unknown[:MOST_NAMES]:
        meant = get_close_matches(name[:SHOWN_NAME], known, n=1)
        hint = f" (perhaps {meant[0]} is meant)" if meant else f"; its arguments are {', '.join(known)}"
        yield (
            "/" + name[:SHOWN_NAME].replace("~", "~0").replace("/", "~1"),
            f"is no argument of this tool{hint}",
        )
