"""What is asked of the authority, what it answers, and how answers get back to their event loops."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from coordination.core.messages import Acquire, Command, Granted, Outcome
from coordination.core.model import Mode
from coordination.core.value import value
from intramedial.receipts import receipt as receipts


class Unavailable(Exception):
    """The authority could not decide, or does not know whether it did: there is no lease. Ask again."""


passing: set[str] = set()
"""Agents, made for one run on this process, whose receipts are signed and stay out of the ledger."""


@value
class Ask:
    """A command and who asks. `auth`: how the caller is known, for the receipt; `digest`: Content-Digest of
    the request's body, `sha-256=:…:`; `active_limit`: resources the workspace may hold or wait for."""

    workspace: str
    command: Command
    auth: str
    digest: str
    active_limit: int | None = None


@dataclass(slots=True)
class Answer:
    """`body`: the JSON answer without its receipt, the very bytes that the receipt's claims hold. `first`:
    no answer before this one told the agent of the lease, which is new or was owed back. `receipt`: None
    until it is signed, for an answer that has none, and should signing fail."""

    outcome: Outcome
    body: bytes
    claims: bytes | None = None
    receipt_id: str = ""
    kid: str = ""
    first: bool = False
    receipt: dict[str, str] | None = None

    def sign(self) -> None:
        """Make the receipt. Never raises."""
        if self.claims is not None:
            self.receipt = receipts.receipt(self.claims, self.receipt_id, self.kid or None)


@dataclass(slots=True)
class Pending:
    ask: Ask
    future: "asyncio.Future[Answer]"
    loop: asyncio.AbstractEventLoop

    @property
    def workspace(self) -> str:
        return self.ask.workspace


@value
class Owed:
    """A lease that its agent was not told of, as it was granted: renewed since, it has been told of."""

    workspace: str
    resource: str
    agent: str
    mode: Mode
    lease_id: str
    expires_at: int

    def asked_again(self, items: Iterable[Pending]) -> bool:
        """Whether one of these asks will be answered with this very lease, renewed."""
        return any(
            item.workspace == self.workspace
            and isinstance(command := item.ask.command, Acquire)
            and (command.resource, command.agent) == (self.resource, self.agent)
            and self.mode.covers(command.mode)
            for item in items
        )


Owe = Callable[[list[Owed]], None]


def granted(items: Iterable[Pending], answers: Iterable[Answer]) -> list[Owed]:
    """The leases that nobody hears of when these answers are not given."""
    return [
        owed
        for item, answer in zip(items, answers, strict=False)
        if (owed := _owed(item, answer)) is not None
    ]


def _owed(item: Pending, answer: Answer) -> Owed | None:
    outcome = answer.outcome
    if not isinstance(outcome, Granted) or not answer.first:
        return None
    lease = outcome.lease
    return Owed(item.workspace, outcome.resource, lease.agent, lease.mode, lease.lease_id, lease.expires_at)


def deliver(items: Sequence[Pending], answers: Sequence[Answer], owe: Owe) -> None:
    """Hand the answers to their event loops, one wake-up each; `owe` is told the leases nobody hears of."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Pending, Answer]]] = {}
    for item, answer in zip(items, answers, strict=True):
        by_loop.setdefault(item.loop, []).append((item, answer))
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_hand_over, pairs, owe)
        except RuntimeError:  # that loop is closed
            _untold(pairs, owe)


def _hand_over(pairs: list[tuple[Pending, Answer]], owe: Owe) -> None:
    gone = []
    for item, answer in pairs:
        if item.future.done():
            gone.append((item, answer))
        else:
            item.future.set_result(answer)
    _untold(gone, owe)


def _untold(pairs: Iterable[tuple[Pending, Answer]], owe: Owe) -> None:
    """A lease whose caller went away before its answer is owed back like one whose commit was in doubt."""
    owed = [lease for item, answer in pairs if (lease := _owed(item, answer)) is not None]
    if owed:
        owe(owed)


def refuse(items: Iterable[Pending], why: str) -> None:
    """Raise `Unavailable` in all these callers."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Pending]] = {}
    for item in items:
        by_loop.setdefault(item.loop, []).append(item)
    for loop, refused in by_loop.items():
        # A loop that is closed has no callers any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_raise_in, refused, why)


def _raise_in(items: Iterable[Pending], why: str) -> None:
    for item in items:
        if not item.future.done():
            item.future.set_exception(Unavailable(why))
