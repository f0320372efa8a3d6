"""Ninja's registered operations as a table to dispatch by: path -> method -> Route.

The API has no variable in any path, so finding an operation is two look-ups. The shapes that validate are
those of the registered signature, which are the ones in the OpenAPI description.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings
from ninja import NinjaAPI
from ninja.operation import Operation
from pydantic import BaseModel, ValidationError

from intramedial.calls import Call, Credentials, Reply
from intramedial.identity.principal import Principal
from intramedial.problems import Problem
from intramedial.strict_json import MalformedJson, parse_object

MAX_QUERY = 8192


@dataclass(frozen=True, slots=True)
class Route:
    """One operation as registered: its function, the shapes of what it is asked, whom it lets in (None:
    everybody)."""

    operation: Operation
    view: Callable[..., Awaitable[Reply]]
    body: type[BaseModel] | None
    query: type[BaseModel] | None
    credentials: Credentials | None

    async def run(self, call: Call) -> Reply:
        """The operation's answer. Problem for a body or query that is not valid (400, 422)."""
        if self.body is not None:
            return await self.view(call, validated(self.body, _json(call), call.principal))
        if self.query is not None:
            return await self.view(call, validated(self.query, _query(call.parts.query), call.principal))
        return await self.view(call)


def validated(shape: type[BaseModel], given: dict[str, Any], caller: Principal | None) -> Any:
    """What is given as `shape`, by the semantic classes of the caller's workspace. Problem (422) if not."""
    context = caller.semantic_classes if caller is not None else None
    try:
        return shape.__pydantic_validator__.validate_python(given, context=context)
    except ValidationError as error:
        raise invalid(*_faults(error)) from None


def table(api: NinjaAPI) -> dict[str, dict[str, Route]]:
    """The routes of everything registered with `api`."""
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
    """What an operation was registered with as its `auth`."""
    for credentials in operation.auth_callbacks:
        assert isinstance(credentials, Credentials)
        return credentials
    return None


def find(routes: Mapping[str, Mapping[str, Route]], method: str, path: str) -> Route:
    """The route of a request. HEAD is GET without its body. Problem for an unknown path (404) or method
    (405).
    """
    by_method = routes.get(path)
    if by_method is None:
        raise Problem("not_found", "There is nothing at this path. The API is described at /openapi.json.")
    route = by_method.get("GET" if method == "HEAD" else method)
    if route is None:
        raise method_not_allowed(by_method)
    return route


def allowed(by_method: Mapping[str, Route]) -> str:
    """The value of `Allow` (RFC 9110, 10.2.1) of a path."""
    return ", ".join(sorted({*by_method, "OPTIONS", *(["HEAD"] if "GET" in by_method else [])}))


def method_not_allowed(by_method: Mapping[str, Route]) -> Problem:
    """405: the path exists, without this method. Its reason is `not_found`: there is no such operation."""
    allow = allowed(by_method)
    problem = Problem(
        "not_found", f"This path does not have that method, only {allow}.", headers={"allow": allow}
    )
    problem.status, problem.title = 405, "Method not allowed"
    return problem


def invalid(*faults: tuple[str, str]) -> Problem:
    """422 with each fault as (JSON pointer, what is wrong)."""
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


def _query(raw: bytes) -> dict[str, str]:
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
    return query


def _faults(error: ValidationError) -> list[tuple[str, str]]:
    return [
        ("".join(f"/{_escape(str(part))}" for part in fault["loc"]), _words(fault))
        for fault in error.errors(include_url=False, include_input=False)
    ]


def _words(fault: Any) -> str:
    # Words of our own validators, without pydantic's "Value error, " before them.
    own = fault.get("ctx", {}).get("error")
    return str(own) if isinstance(own, ValueError) else fault["msg"]


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
