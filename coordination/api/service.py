"""What REST, MCP and the pages share: a command is decided, or a picture is read, and the answer is one body.

An answer has the same fields everywhere, and so has the `Problem` of a request that cannot be answered.
"""

from collections.abc import Awaitable
from typing import Any

import orjson
from django.conf import settings

from coordination.authority import process as authority
from coordination.authority.process import Ask, StorageFault
from coordination.core.messages import Acquire, LimitReached, Outcome, Release, Withdraw, Withdrawn
from coordination.core.model import value
from intramedial.http.calls import Principal
from intramedial.http.problems import Problem

AgentCommand = Acquire | Release | Withdraw
"""The commands that an agent may give."""


@value
class Decided:
    """An outcome, and the whole body of the answer, with its receipt."""

    outcome: Outcome
    body: bytes


async def decide(caller: Principal, command: AgentCommand, digest: str) -> Decided:
    """The authority's decision on a command of `caller`. `digest`: that of the request's body.

    Raises Problem: `actor_mismatch`, `rate_limited`, `authority_unavailable`.
    """
    caller.require_actor(command.agent)
    limit = settings.WORKSPACE_RESOURCES if caller.trial is None else settings.TRIAL_RESOURCES
    try:
        answer = await authority.get().ask(Ask(caller.workspace, command, caller.auth, digest, limit))
    except (authority.Unavailable, StorageFault) as error:
        raise _unavailable(
            "Nothing was decided, or it is not known: there is no lease. Ask again."
        ) from error
    outcome = answer.outcome
    if isinstance(outcome, LimitReached):
        raise Problem(
            "rate_limited",
            f"The workspace holds or waits for {outcome.limit} resources, as many as it may at once. "
            "Release some, or wait for some to run out.",
        )
    body = answer.body
    if not isinstance(outcome, Withdrawn):
        body = b'%s,"receipt":%s}' % (body[:-1], orjson.dumps(answer.receipt))
    return Decided(outcome, body)


async def read(reading: Awaitable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The result of `reading`. Raises Problem (`authority_unavailable`) when the storage does not answer."""
    try:
        return await reading
    except StorageFault as error:
        raise _unavailable("The authority's storage does not answer. Ask again.") from error


def _unavailable(detail: str) -> Problem:
    return Problem("authority_unavailable", detail, headers={"retry-after": "1"})
