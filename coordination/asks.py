"""What is asked of the authority, what it answers, and how answers get back to their event loops."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from intramedial.receipts import receipt as receipts

from .core.messages import Acquire, Command, Granted, Outcome


class Unavailable(Exception):
    """The authority could not decide, or does not know whether it did: there is no lease. Ask again."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A command and who asks. `auth`: how the caller is known, for the receipt; `digest`: Content-Digest of
    the request's body, `sha-256=:…:`; `active_limit`: resources the workspace may hold or wait for."""

    workspace: str
    command: Command
    auth: str
    digest: str
    active_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`body`: the JSON answer without its receipt, the very bytes that the receipt's claims hold."""

    outcome: Outcome
    body: bytes
    claims: bytes | None = None
    receipt_id: str = ""
    kid: str = ""

    def receipt(self) -> dict[str, str] | None:
        """Sign; None for an answer without a receipt, or should signing fail."""
        if self.claims is None:
            return None
        return receipts.receipt(self.claims, self.receipt_id, self.kid or None)


@dataclass(slots=True)
class Pending:
    ask: Ask
    future: "asyncio.Future[Answer]"
    loop: asyncio.AbstractEventLoop

    @property
    def workspace(self) -> str:
        return self.ask.workspace


@dataclass(frozen=True, slots=True)
class Owed:
    """A lease that its agent was not told of."""

    workspace: str
    resource: str
    agent: str
    lease_id: str

    def asked_again(self, items: Iterable[Pending]) -> bool:
        return any(
            item.workspace == self.workspace
            and isinstance(command := item.ask.command, Acquire)
            and (command.resource, command.agent) == (self.resource, self.agent)
            for item in items
        )


def granted(items: Iterable[Pending], answers: Iterable[Answer]) -> list[Owed]:
    """The new leases among answers that will not be given."""
    return [
        owed
        for item, answer in zip(items, answers, strict=False)
        if (owed := _owed(item, answer)) is not None
    ]


def _owed(item: Pending, answer: Answer) -> Owed | None:
    outcome = answer.outcome
    if not isinstance(outcome, Granted) or outcome.renewed:
        return None
    lease = outcome.lease
    return Owed(item.workspace, outcome.resource, lease.agent, lease.lease_id)


def deliver(
    items: Sequence[Pending],
    answers: Sequence[Answer | Unavailable],
    owed: deque[Owed] | None = None,
) -> None:
    """Hand the answers to their event loops, one wake-up each."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Pending, Answer | Unavailable]]] = {}
    for item, answer in zip(items, answers, strict=True):
        by_loop.setdefault(item.loop, []).append((item, answer))
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_hand_over, pairs, owed)
        except RuntimeError:  # that loop is closed: nobody hears these answers
            _give_up(pairs, owed)


def _hand_over(pairs: list[tuple[Pending, Answer | Unavailable]], owed: deque[Owed] | None) -> None:
    gone = []
    for item, answer in pairs:
        if item.future.done():
            gone.append((item, answer))
        elif isinstance(answer, Unavailable):
            item.future.set_exception(answer)
        else:
            item.future.set_result(answer)
    if gone:
        _give_up(gone, owed)


def _give_up(pairs: Iterable[tuple[Pending, Answer | Unavailable]], owed: deque[Owed] | None) -> None:
    """A lease whose caller went away before its answer is owed back like one whose commit was in doubt."""
    for item, answer in pairs:
        if owed is not None and isinstance(answer, Answer):
            untold = _owed(item, answer)
            if untold is not None:
                owed.append(untold)
