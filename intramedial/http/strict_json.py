"""JSON bodies read strictly: a body that two readers could understand differently is refused.

orjson refuses NaN, infinities, lone surrogates (escaped ones too), bytes that are not UTF-8, a byte order
mark and anything after the document. It stops at a nesting of 1024 without exhausting the stack. This module
refuses what orjson accepts: a name that an object has twice (RFC 8259, section 4, leaves open which one
counts), a nesting deeper than allowed, and a top level that is not an object.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from intramedial.http.problems import Problem

MEDIA_TYPE = "application/json"

# Used on valid JSON only. There it matches each string in one step forward, so the time is linear.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NOT_BRACKET = re.compile(rb"[^\[\]{}]+")
_OPENING = b"[{"


class MalformedJson(ValueError):
    """The body is not JSON as this service reads it. The message says what is wrong with it."""


def require_json(headers: Mapping[str, str]) -> None:
    """Raise Problem (415) unless a body with these header fields is JSON in UTF-8 without a content
    coding."""
    given = headers.get("content-type", "")
    if given != MEDIA_TYPE and not _is_json(given):
        found = f"not {given[:80]!r}" if given else "which is missing"
        raise Problem("unsupported_media_type", f"The body must have Content-Type: {MEDIA_TYPE}, {found}.")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem("unsupported_media_type", "The body must come without a Content-Encoding.")


def _is_json(content_type: str) -> bool:
    media_type, *parameters = content_type.lower().split(";")
    if media_type.strip() != MEDIA_TYPE:
        return False
    pairs = (parameter.partition("=") for parameter in parameters)
    return all(value.strip().strip('"') == "utf-8" for name, _, value in pairs if name.strip() == "charset")


def parse_object(body: bytes, max_depth: int) -> dict[str, Any]:
    """The JSON object in `body`, nested at most `max_depth` deep (the object itself is 1).

    Raises MalformedJson. Whole numbers of more than 64 bits become floats.
    """
    value = parse(body, max_depth)
    if not isinstance(value, dict):
        raise MalformedJson("The body must be a JSON object.")
    return value


def parse(body: bytes, max_depth: int) -> Any:
    """The JSON value in `body`; see `parse_object`."""
    if not body:
        raise MalformedJson("The body is empty; it must be a JSON object.")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedJson(f"The body is not JSON: {error}.") from None
    if _is_plain(value, body):
        return value
    # The depth is checked first: after that Python's own reader, which is recursive, cannot go too deep.
    if body.count(b"{") + body.count(b"[") > max_depth and _depth(_STRING.sub(b"", body)) > max_depth:
        raise MalformedJson(f"The body is nested more than {max_depth} deep.")
    json.loads(body, object_pairs_hook=_require_names_once)
    return value


def _is_plain(value: Any, body: bytes) -> bool:
    """Whether it is one object of strings, as most bodies are, with each name once. Without escapes a name
    and its string have two quotation marks each, and a repeated name has two more."""
    return (
        type(value) is dict
        and body.count(b'"') == 4 * len(value)
        and b"\\" not in body
        and all(type(member) is str for member in value.values())
    )


def _depth(skeleton: bytes) -> int:
    """The nesting of a document from which the strings were removed."""
    deepest = depth = 0
    for bracket in _NOT_BRACKET.sub(b"", skeleton):
        if bracket in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _require_names_once(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) != len(members):
        raise MalformedJson("The body has an object with the same name twice.")
