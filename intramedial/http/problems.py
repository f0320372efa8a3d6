"""Problem details (RFC 9457): the closed list of reasons for which a call can fail.

A refused lease (``lease_held``, ``deadlock`` …) is an answer and not a problem. Its reasons are not in this
list.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.conf import settings

REASONS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "malformed_json": (400, "The body is not valid JSON"),
        "unauthenticated": (401, "Valid credentials are required"),
        "trial_expired": (401, "The trial has expired"),
        "bad_signature": (401, "The request's signature was not accepted"),
        "replayed": (401, "This signed request was already used"),
        "actor_mismatch": (403, "These credentials cannot act for this agent"),
        "forbidden": (403, "These credentials do not allow this"),
        "not_found": (404, "Not found"),
        "too_large": (413, "The request is too large"),
        "unsupported_media_type": (415, "The content type is not supported"),
        "invalid_request": (422, "The request is not valid"),
        "trial_exhausted": (429, "The trial's calls are used up"),
        "rate_limited": (429, "A limit was reached"),
        "authority_unavailable": (503, "The authority is not available"),
    }
)

# RFC 9110, 11.6.1: a 401 names how to authenticate. Signed requests have no challenge of their own; the
# detail of their problem says what to sign.
CHALLENGE = 'Bearer realm="intramedial"'


def challenge(error: str, description: str) -> dict[str, str]:
    """The headers of a 401 for a key that is wrong (RFC 6750, 3), with the error.

    `description` is printable ASCII without quotation marks and backslashes. The challenge of a request
    without a key has no error (3.1).
    """
    return {"www-authenticate": f'{CHALLENGE}, error="{error}", error_description="{description}"'}


class Problem(Exception):
    """A call that fails for a documented reason.

    ``reason`` is a key of :data:`REASONS`; any other one raises ``KeyError``, since it is a bug. ``detail``
    is a sentence for people, without secrets. ``errors`` are ``{"pointer": JSON pointer, "detail"}``.
    ``headers`` are further response headers, by lower-case name; a 401 always has ``www-authenticate``.
    ``shapes.ProblemShape`` describes the answer.
    """

    def __init__(
        self,
        reason: str,
        detail: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.status, self.title = REASONS[reason]
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        if self.status == 401:
            self.headers.setdefault("www-authenticate", CHALLENGE)


def problem_body(problem: Problem, request_id: str) -> dict[str, Any]:
    """The members of the ``application/problem+json`` answer. ``ok`` and ``reason`` are for programs."""
    body: dict[str, Any] = {
        "type": f"{settings.BASE_URL}/errores/{problem.reason}",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "ok": False,
        "reason": problem.reason,
    }
    if problem.errors:
        body["errors"] = [dict(error) for error in problem.errors]
    body["requestId"] = request_id
    return body
