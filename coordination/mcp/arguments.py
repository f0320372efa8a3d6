"""The arguments of a tool, validated."""

from typing import Any

from pydantic import BaseModel

from intramedial.http.calls import Principal
from intramedial.http.routing import refuse_unknown, validated, wire_names


def read(shape: type[BaseModel], given: dict[str, Any], caller: Principal) -> Any:
    """What was given, as `shape`. Raises Problem (`invalid_request`)."""
    if shape.model_config.get("extra") == "forbid":
        refuse_unknown(given, wire_names(shape), "tool", "argument")
    return validated(shape, given, caller)
