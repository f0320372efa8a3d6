"""Checks every answer that the tests get against the API's own description."""

import copy
import functools
import json
import re
from typing import Any

import httpx
import jsonschema

from intramedial import api

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
HEADERS = {"x-request-id", "x-content-type-options", "content-security-policy", "cache-control"}


@functools.cache
def document() -> dict[str, Any]:
    """The description, read as a client reads it."""
    return json.loads(api.description())


@functools.cache
def closed_components() -> dict[str, Any]:
    """The components with every object closed: an answer with an undescribed member is a fault."""
    components = copy.deepcopy(document()["components"])
    for schema in components["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return components


@functools.cache
def validator(path: str, method: str, status: int) -> tuple[str | None, jsonschema.Draft202012Validator]:
    """Media type and schema of one answer of one operation; for 404 and 405 of unknown paths, of a
    problem."""
    operation = document()["paths"].get(path, {}).get(method.lower())
    if operation is not None:
        described = operation["responses"].get(str(status))
        assert described is not None, f"{method} {path} answered {status}, which is not described"
        ((media_type, content),) = described["content"].items()
        schema = content["schema"]
    else:
        assert status in (404, 405), f"{method} {path} answered {status}"
        media_type, schema = "application/problem+json", {"$ref": "#/components/schemas/Problem"}
    return media_type, jsonschema.Draft202012Validator({**schema, "components": closed_components()})


def check(response: httpx.Response) -> None:
    """Fail unless the answer is as described, and has the headers that every answer has."""
    request = response.request
    assert set(response.headers) >= HEADERS, response.headers
    if request.method == "HEAD" or response.status_code in (204, 304):
        assert response.content == b""
        return
    # One trailing slash makes no difference.
    media_type, schema = validator(request.url.path.removesuffix("/"), request.method, response.status_code)
    given = response.headers["content-type"]
    if request.url.path.startswith("/api/"):
        assert given == media_type, given
        assert response.headers["cache-control"] == "no-store"
    if media_type == "application/jsonl":
        for line in response.text.splitlines():
            schema.validate(json.loads(line))
            check_instants(json.loads(line))
        return
    body = response.json()
    schema.validate(body)
    check_instants(body)
    if media_type == "application/problem+json":
        assert body["status"] == response.status_code
        assert body["requestId"] == response.headers["x-request-id"]
    if response.status_code == 401:
        assert response.headers["www-authenticate"]


def check_instants(value: Any, name: str = "") -> None:
    """Check that every member whose name says that it is an instant is one, with milliseconds."""
    if isinstance(value, dict):
        for key, member in value.items():
            check_instants(member, key)
    elif isinstance(value, list):
        for member in value:
            check_instants(member, name)
    elif name.endswith("At") or name in ("serverTime", "since", "at", "offeredUntil", "keptUntil"):
        assert INSTANT.fullmatch(value), (name, value)
