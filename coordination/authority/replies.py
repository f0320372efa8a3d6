"""Requests to the authority, its answers, and how answers get back to the event loops of their callers."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from coordination.core.messages import Acquire, Command, Granted, Outcome
from coordination.core.model import Mode, value
from intramedial.receipts import receipt as receipts


class Unavailable(Exception):
    """The authority could not decide, or does not know whether it did. The caller has no lease and may
    retry."""


@value
class Ask:
    """A command with its workspace. For the receipt: `auth`, how the caller was authenticated, and
    `digest`, the Content-Digest of the request's body (`sha-256=:…:`). `active_limit`: how many resources
    may be held or waited for in the workspace."""

    workspace: str
    command: Command
    auth: str
    digest: str
    active_limit: int | None = None


@dataclass(slots=True)
class Answer:
    """`body`: the JSON answer without its receipt, the same bytes as in the receipt's claims. `first`:
    this is the first answer about the lease, which is new or was to be returned undelivered. `receipt` is
    None until it is signed, for an answer without a receipt, and when signing fails."""

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
class PendingAsk:
    """An ask, and the future that its caller awaits on `loop`."""

    ask: Ask
    future: "asyncio.Future[Answer]"
    loop: asyncio.AbstractEventLoop

    @property
    def workspace(self) -> str:
        return self.ask.workspace


@dataclass(frozen=True, slots=True)
class Owed:
    """A lease to return undelivered, as it was granted. If it was renewed since, an answer was received."""

    workspace: str
    resource: str
    agent: str
    mode: Mode
    lease_id: str
    expires_at: int

    def asked_again(self, items: Iterable[PendingAsk]) -> bool:
        """Whether one of these commands will renew this lease and be answered with it."""
        return any(
            item.workspace == self.workspace
            and isinstance(command := item.ask.command, Acquire)
            and (command.resource, command.agent) == (self.resource, self.agent)
            and self.mode.covers(command.mode)
            for item in items
        )


Owe = Callable[[list[Owed]], None]


def granted(items: Iterable[PendingAsk], answers: Iterable[Answer]) -> list[Owed]:
    """The leases that are undelivered when these answers are not given."""
    return [
        owed
        for item, answer in zip(items, answers, strict=False)
        if (owed := _owed(item, answer)) is not None
    ]


def _owed(item: PendingAsk, answer: Answer) -> Owed | None:
    outcome = answer.outcome
    if not isinstance(outcome, Granted) or not answer.first:
        return None
    lease = outcome.lease
    return Owed(item.workspace, outcome.resource, lease.agent, lease.mode, lease.lease_id, lease.expires_at)


def deliver(items: Sequence[PendingAsk], answers: Sequence[Answer], owe: Owe) -> None:
    """Hand the answers to their event loops, with one wake-up for each loop. `owe` gets the leases that could
    not be delivered."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[PendingAsk, Answer]]] = {}
    for item, answer in zip(items, answers, strict=True):
        by_loop.setdefault(item.loop, []).append((item, answer))
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_hand_over, pairs, owe)
        except RuntimeError:  # that loop is closed
            _undelivered(pairs, owe)


def _hand_over(pairs: list[tuple[PendingAsk, Answer]], owe: Owe) -> None:
    undelivered = []
    for item, answer in pairs:
        if item.future.done():
            undelivered.append((item, answer))
        else:
            item.future.set_result(answer)
    _undelivered(undelivered, owe)


def _undelivered(pairs: Iterable[tuple[PendingAsk, Answer]], owe: Owe) -> None:
    """Return the leases of these answers, whose callers have gone, like leases whose commit was in doubt."""
    owed = [lease for item, answer in pairs if (lease := _owed(item, answer)) is not None]
    if owed:
        owe(owed)


def refuse(items: Iterable[PendingAsk], why: str) -> None:
    """Raise `Unavailable` in all these callers."""
    by_loop: dict[asyncio.AbstractEventLoop, list[PendingAsk]] = {}
    for item in items:
        by_loop.setdefault(item.loop, []).append(item)
    for loop, refused in by_loop.items():
        # A loop that is closed has no callers.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_raise_in, refused, why)


def _raise_in(items: Iterable[PendingAsk], why: str) -> None:
    for item in items:
        if not item.future.done():
            item.future.set_exception(Unavailable(why))
