"""JSON bodies read strictly: what two readers could understand differently is refused.

orjson refuses NaN, infinities, lone surrogates (escaped ones too), bytes that are not UTF-8, a byte order
mark and anything after the document, and stops at a nesting of 1024 without exhausting the stack. What it
does not see is here: a name given twice (RFC 8259, section 4, leaves open which one counts), the depth
allowed, and a top level that is not an object.
"""

import re
from typing import Any

import orjson

# Applied to valid JSON alone: there it matches each string in one step forward, so that it stays linear.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NOT_BRACKET = re.compile(rb"[^\[\]{}]+")
_OPENING = b"[{"


class MalformedJson(ValueError):
    """The body is not JSON as this service reads it; the message says what is wrong with it."""


def parse_object(body: bytes, max_depth: int) -> dict[str, Any]:
    """The JSON object that `body` is, nested at most `max_depth` deep (the object itself is 1).

    Raises MalformedJson. Whole numbers of more than 64 bits become floats.
    """
    value = parse(body, max_depth)
    if not isinstance(value, dict):
        raise MalformedJson("The body must be a JSON object.")
    return value


def parse(body: bytes, max_depth: int) -> Any:
    """The JSON value that `body` is; see `parse_object`."""
    if not body:
        raise MalformedJson("The body is empty; it must be a JSON object.")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedJson(f"The body is not JSON: {error}.") from None
    if _is_plain(value, body):
        return value
    # The document without its strings: one colon for each name, and the brackets that nest.
    skeleton = _STRING.sub(b"", body)
    if skeleton.count(b"{") + skeleton.count(b"[") > max_depth and _depth(skeleton) > max_depth:
        raise MalformedJson(f"The body is nested more than {max_depth} deep.")
    if skeleton.count(b":") != _count_names(value):
        raise MalformedJson("The body has an object with the same name twice.")
    return value


def _is_plain(value: Any, body: bytes) -> bool:
    """Whether it is one object of texts, as most bodies are, with each name once: a name and a text have two
    quotation marks each where none is escaped, and a name that was given before has two more."""
    return (
        type(value) is dict
        and body.count(b'"') == 4 * len(value)
        and b"\\" not in body
        and all(type(member) is str for member in value.values())
    )


def _depth(skeleton: bytes) -> int:
    deepest = depth = 0
    for bracket in _NOT_BRACKET.sub(b"", skeleton):
        if bracket in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _count_names(value: Any) -> int:
    count, left = 0, [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            count += len(item)
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return count
