"""The shapes that all operations share. Shapes validate requests and describe answers."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from intramedial.http import problems

Absent = partial(Field, default=None)
"""A member that may be left out and is never null: `Absent(description="…")`. Here it is None then."""


class Shape(BaseModel):
    """A JSON object: names in camelCase, no conversion between types, unknown members ignored."""

    model_config = ConfigDict(alias_generator=to_camel, strict=True, frozen=True, extra="ignore")


def example(*examples: dict[str, Any], title: str | None = None) -> ConfigDict:
    """A shape's configuration with these examples. `title`: a name that is not the class's."""
    return ConfigDict(json_schema_extra={"examples": list(examples)}, title=title)


Instant = Annotated[
    datetime,
    Field(
        description="RFC 3339, UTC, with milliseconds.",
        examples=["2026-01-31T10:00:00.000Z"],
        json_schema_extra={"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
    ),
]

Workspace = Annotated[str, Field(description="A workspace's id.", examples=["ws_4f8Zk2VhQ9sT1xYbN7mC3d"])]


class Fault(Shape):
    """One thing that is wrong with a request."""

    pointer: str = Field(
        description="JSON pointer (RFC 6901) to the member; of a query, `/` and the parameter's name.",
        examples=["/actorDid"],
    )
    detail: str


class ProblemShape(Shape):
    """An error (RFC 9457). `ok` is in every answer of an operation, so one check serves for all."""

    __qualname__ = "Problem"  # its name in the API's description
    model_config = example(
        {
            "type": "https://api.intramedial.com/errores/actor_mismatch",
            "title": problems.REASONS["actor_mismatch"][1],
            "status": 403,
            "detail": "These credentials can only act for did:web:ana.example.",
            "ok": False,
            "reason": "actor_mismatch",
            "requestId": "req_0f3a5c7e9b1d2f4a6c8e0b2d",
        },
        title="Problem",
    )

    type: str = Field(description="A page that explains the reason.")
    title: str
    status: int
    detail: str = Field(description="What is wrong and how to put it right, for people.")
    ok: Literal[False]
    reason: str = Field(
        description="For programs; a closed list.", json_schema_extra={"enum": list(problems.REASONS)}
    )
    errors: list[Fault] = Absent(description="With `invalid_request`: each thing that is wrong.")
    request_id: str = Field(description="Also in the header `X-Request-Id` and in the service's log.")


class Receipt(Shape):
    """The answer, signed: only the JWS counts. Any JOSE library verifies it with `/.well-known/jwks.json`."""

    id: str = Field(examples=["rcp_01J9Z3K6Q8"])
    kid: str = Field(description="The signing key: its RFC 7638 thumbprint.")
    jws: str = Field(
        description="Compact JWS (RFC 7515), EdDSA. Its claims: iss, iat, jti, sub, auth, workspace, event, "
        "outcome, resource, request.digest, and `result`: this body without `receipt`.",
        json_schema_extra={"pattern": r"^[\w-]+\.[\w-]+\.[\w-]+$"},
    )


def errors(*more: int, body: bool = False) -> dict[int, type[ProblemShape]]:
    """The problems of an operation that takes credentials, by status. `body`: it also reads a body. `more`
    are further statuses."""
    statuses = {401, 403, 413, 422, 429, 503, *more, *({400, 415} if body else ())}
    return dict.fromkeys(sorted(statuses), ProblemShape)
