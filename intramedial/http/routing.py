"""Ninja's registered operations as a table: path -> method -> Route.

No path of the API has a variable, so finding an operation takes two look-ups. Requests are validated by the
shapes of the registered signature, which are also those of the OpenAPI description.

An unknown query parameter is refused (422): if a misspelt one were ignored, the answer would fit another
question. Unknown members of a body are ignored. A refusal names the parameter or member that was probably
meant.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings
from ninja import NinjaAPI
from ninja.operation import Operation
from pydantic import BaseModel, ValidationError

from intramedial.http.calls import Call, Credentials, Principal, Reply
from intramedial.http.problems import Problem
from intramedial.http.strict_json import MalformedJson, parse_object

MAX_QUERY = 8192
"""Bytes of a query."""
MAX_FAULTS = 5
"""How many unknown names one answer names."""
MAX_COMPARED = 50
"""How many unknown members of a body are compared with a missing one."""
LONGEST_SHOWN = 60
"""How many characters of a given name a sentence repeats."""

LEAST_PART = 3
"""A name of fewer characters is not searched for inside another one."""
LEAST_RATIO = 0.7
"""How alike two names must be to be near: `difflib`'s ratio, 0 to 1."""
LONGEST_COMPARED = 40
"""Names with more characters than this have no near name, so that the work is bounded."""
SAME = {
    **dict.fromkeys(("agent", "agentdid", "agentid", "holder"), "actordid"),
    "lock": "resource",
}
"""Words that other services use, each with the name that it has here. Both are folded."""

_SLASHES = re.compile("/{2,}")


@dataclass(frozen=True, slots=True)
class Route:
    """One operation as registered: its function, the shapes of its body and query, and the credentials that
    it takes (None: it takes none)."""

    operation: Operation
    view: Callable[..., Awaitable[Reply]]
    body: type[BaseModel] | None
    query: type[BaseModel] | None
    credentials: Credentials | None

    async def run(self, call: Call) -> Reply:
        """The operation's answer. Problem for a body or query that is not valid (400, 422)."""
        if self.query is not None:
            query = _query(call.parts.query, wire_names(self.query))
            return await self.view(call, validated(self.query, query, call.principal))
        given = _json(call) if self.body is not None else None
        if call.parts.query:
            _query(call.parts.query, ())
        if self.body is not None and given is not None:
            return await self.view(call, validated(self.body, given, call.principal))
        return await self.view(call)


def validated(shape: type[BaseModel], given: dict[str, Any], caller: Principal | None) -> Any:
    """`given` as an instance of `shape`, read with the semantic classes of the caller's workspace.

    Raises Problem (422). It names the unknown member that was probably meant for a missing one.
    """
    context = caller.semantic_classes if caller is not None else None
    try:
        return shape.__pydantic_validator__.validate_python(given, context=context)
    except ValidationError as error:
        raise invalid(*_faults(error, given, wire_names(shape))) from None


def table(api: NinjaAPI) -> dict[str, dict[str, Route]]:
    """The routes of all operations registered with `api`."""
    found: dict[str, dict[str, Route]] = {}
    for path, operation in operations(api):
        shapes = {model.__ninja_param_source__: _only_shape(model) for model in operation.models}
        body, query = shapes.pop("body", None), shapes.pop("query", None)
        route = Route(operation, operation.view_func, body, query, credentials_of(operation))
        assert not shapes, f"{path}: the short path reads bodies and queries, not {', '.join(shapes)}"
        for method in operation.methods:
            found.setdefault(path, {})[method] = route
    return found


def operations(api: NinjaAPI) -> Iterator[tuple[str, Operation]]:
    """Every registered operation with its full path."""
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                yield "/" + "/".join(part.strip("/") for part in (router.prefix, path) if part), operation


def credentials_of(operation: Operation) -> Credentials | None:
    """The `auth` with which an operation was registered, or None."""
    for credentials in operation.auth_callbacks:
        assert isinstance(credentials, Credentials)
        return credentials
    return None


def find(routes: Mapping[str, Mapping[str, Route]], method: str, path: str) -> Route:
    """The route of a request. HEAD takes that of GET. Raises Problem for an unknown path (404) or method
    (405)."""
    by_method = at(routes, path)
    if by_method is None:
        raise _not_found(routes, path)
    route = by_method.get("GET" if method == "HEAD" else method)
    if route is None:
        raise method_not_allowed(by_method)
    return route


def at(routes: Mapping[str, Mapping[str, Route]], path: str) -> Mapping[str, Route] | None:
    """The routes of a path by method, or None. A slash at the end of the path makes no difference: some
    clients always add it, and few follow a redirect of a POST."""
    by_method = routes.get(path)
    return routes.get(path[:-1]) if by_method is None and path.endswith("/") else by_method


def _not_found(routes: Mapping[str, Mapping[str, Route]], path: str) -> Problem:
    """404. It names the path that was probably meant."""
    plain = _SLASHES.sub("/", path).rstrip("/").lower()
    meant = f" Did you mean {plain}? Case and double slashes count." if plain in routes else ""
    return Problem(
        "not_found", f"There is nothing at this path.{meant} The API is described at /openapi.json."
    )


def allowed(by_method: Mapping[str, Route]) -> str:
    """The value of `Allow` (RFC 9110, 10.2.1) of a path."""
    return ", ".join(sorted({*by_method, "OPTIONS", *(["HEAD"] if "GET" in by_method else [])}))


def method_not_allowed(by_method: Mapping[str, Route]) -> Problem:
    """405: the path does not have this method. The reason is `not_found`, since there is no such
    operation."""
    allow = allowed(by_method)
    problem = Problem(
        "not_found", f"This path does not have that method, only {allow}.", headers={"allow": allow}
    )
    problem.status, problem.title = 405, "Method not allowed"
    return problem


def invalid(*faults: tuple[str, str]) -> Problem:
    """422. Each fault is (JSON pointer, what is wrong)."""
    detail = "; ".join(f"{pointer or 'the request'}: {words}" for pointer, words in faults)
    return Problem(
        "invalid_request",
        detail,
        errors=[{"pointer": pointer, "detail": words} for pointer, words in faults],
    )


def _only_shape(params: Any) -> type[BaseModel]:
    shape: type[BaseModel]
    (shape,) = params.__annotations__.values()
    return shape


def _json(call: Call) -> dict[str, Any]:
    try:
        return parse_object(call.parts.body, settings.JSON_DEPTH)
    except MalformedJson as error:
        raise Problem("malformed_json", str(error)) from None


@cache
def wire_names(shape: type[BaseModel]) -> tuple[str, ...]:
    """The names that a shape's members have in a request."""
    return tuple(field.alias or name for name, field in shape.model_fields.items())


def _query(raw: bytes, known: tuple[str, ...]) -> dict[str, str]:
    """The parameters of a query by name. Raises Problem (422) for one that is not in `known` or is given
    twice."""
    if not raw:
        return {}
    if len(raw) > MAX_QUERY:
        raise invalid(("", f"the query is longer than {MAX_QUERY} bytes"))
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise invalid(("", "the query is not percent-encoded UTF-8")) from None
    query: dict[str, str] = {}
    for name, value in pairs:
        if name in query:
            raise invalid((f"/{_escape(name)}", "is given twice"))
        query[name] = value
    refuse_unknown(query, known, "operation", "query parameter")
    return query


def refuse_unknown(given: Iterable[str], known: tuple[str, ...], owner: str, kind: str) -> None:
    """Raise Problem (422) if there are names that are not in `known`. It names, for each, the name that was
    probably meant, or all known names. `owner` and `kind` are words of the message, such as `tool` and
    `argument`."""
    faults = []
    for name in given:
        if name in known:
            continue
        meant = nearest(name, known)
        if meant is not None:
            advice = f"did you mean {meant}?"
        else:
            advice = f"this {owner} has {', '.join(known) or f'no {kind}s'}"
        shown = name[:LONGEST_SHOWN]
        faults.append((f"/{_escape(shown)}", f"there is no {kind} {shown!r}; {advice}"))
        if len(faults) == MAX_FAULTS:
            break
    if faults:
        raise invalid(*faults)


def _faults(error: ValidationError, given: dict[str, Any], known: tuple[str, ...]) -> list[tuple[str, str]]:
    return [
        ("".join(f"/{_escape(str(part))}" for part in fault["loc"]), _words(fault, given, known))
        for fault in error.errors(include_url=False, include_input=False)
    ]


def _words(fault: Any, given: dict[str, Any], known: tuple[str, ...]) -> str:
    if fault["type"] == "missing" and len(fault["loc"]) == 1:
        return _missing(str(fault["loc"][0]), given, known)
    # The words of this service's own validators, without pydantic's "Value error, " in front.
    own = fault.get("ctx", {}).get("error")
    return str(own) if isinstance(own, ValueError) else fault["msg"]


def _missing(name: str, given: dict[str, Any], known: tuple[str, ...]) -> str:
    """The words for a missing member, with the unknown one that was probably meant for it."""
    unknown = [other for other in given if other not in known][:MAX_COMPARED]
    meant = next((other for other in unknown if nearest(other, known) == name), None)
    if meant is None:
        return "Field required"
    return f"the name is {name}; you sent {meant if meant.isidentifier() else repr(meant)}"


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name in `known` that `name` probably means, or None if no known name is near."""
    folded = _folded(name)
    if not folded or len(folded) > LONGEST_COMPARED:
        return None
    rated = [(_likeness(folded, _folded(other)), other) for other in known]
    best, other = max(rated, key=lambda pair: pair[0], default=(0.0, ""))
    return other if best >= LEAST_RATIO else None


def _folded(name: str) -> str:
    """The letters and digits of a name in lower case, so that `actor_did` and `actorDID` are the same."""
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
