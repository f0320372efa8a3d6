"""The JSON-RPC message in the body of a POST.

A fault of the message itself is answered as an error of the protocol. A fault of a tool's arguments is
answered as a result, because a model sees only results and can correct them (MCP specification of 2025-11-25,
SEP-1303). So this module removes arguments that cannot be read from the message, and returns their problem
with it.
"""

import json
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from coordination.mcp import tools
from intramedial.http.formats import Json
from intramedial.http.problems import Problem
from intramedial.http.strict_json import MalformedJson, parse

NOT_JSON_RPC = (
    "The body must be one JSON-RPC 2.0 message, such as "
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}; an id is a whole number or a text, '
    "and several messages at once are not taken."
)
NOT_AN_OBJECT = (
    "The arguments must be one JSON object with a member for each argument, such as "
    '{"resource": "lock:deploy/production"}.'
)


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message for the SDK. `fault`: why the arguments of its call cannot be read; `body` is then without
    them.
    """

    body: bytes
    fault: Problem | None = None


def read(body: bytes) -> ReadMessage:
    """The message in the body of a request. Raises Problem (400): `malformed_json`, `invalid_request`."""
    try:
        message = parse(body, settings.JSON_DEPTH)
    except MalformedJson as error:
        return _without_arguments(_read_loosely(body), Problem("malformed_json", str(error)))
    if not _is_json_rpc(message):
        problem = Problem("invalid_request", NOT_JSON_RPC)
        problem.status = 400
        raise problem
    if _calls_a_tool(message) and not isinstance(message["params"].get("arguments"), dict | None):
        fault = Problem(
            "invalid_request", NOT_AN_OBJECT, errors=[{"pointer": "", "detail": "must be an object"}]
        )
        return _without_arguments(message, fault)
    return ReadMessage(body)


def _without_arguments(message: Any, fault: Problem) -> ReadMessage:
    """The call without its arguments. Raises `fault` when the message has a fault elsewhere."""
    if not (_is_json_rpc(message) and _calls_a_tool(message)):
        raise fault
    params = {name: member for name, member in message["params"].items() if name != "arguments"}
    try:
        rest = json.dumps({**message, "params": params}).encode()
        parse(rest, settings.JSON_DEPTH)
    except (TypeError, MalformedJson):
        raise fault from None
    return ReadMessage(rest, fault)


def _is_json_rpc(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and type(message.get("id", "")) in (int, str)
    )


def _calls_a_tool(message: Json) -> bool:
    """Whether it calls an existing tool. For any other the SDK answers with an error."""
    params = message.get("params")
    return (
        message["method"] == "tools/call"
        and isinstance(params, dict)
        and isinstance(params.get("name"), str)
        and tools.find(params["name"]) is not None
    )


class _NamedTwice:
    """Stands for an object with the same name twice. It cannot be written as JSON."""


def _read_loosely(body: bytes) -> Any:
    """The body as a more lenient reader than the strict one reads it; None when that one refuses it too."""
    try:
        return json.loads(body.decode(), object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> Json | _NamedTwice:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _NamedTwice()
