"""One batch: a transaction that decides the commands that have arrived, in order."""

import logging
from collections.abc import Container, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import orjson

from coordination.core.decide import decide
from coordination.core.messages import (
    Acquire,
    Deadlock,
    Event,
    Granted,
    Kind,
    Outcome,
    Released,
    ReturnUndelivered,
    Revoke,
)
from coordination.storage.clock import Clock, steady_ms
from coordination.storage.engines.base import Key
from coordination.storage.store import Backlog, Needs, Store, Transaction
from coordination.wire import serialize
from coordination.wire.ids import new_receipt_id
from intramedial.receipts import receipt as receipts
from intramedial.receipts import signing

from .replies import Answer, Ask, Owed, PendingAsk

logger = logging.getLogger(__name__)

ENDS = (Revoke, ReturnUndelivered)
RECORDED = (Granted, Released, Deadlock)  # the outcomes that go to the ledger; the others change nothing


@dataclass(slots=True)
class Batch:
    """The work of one transaction, and its results as far as they are known, even after a failure.

    `due`: resources that have expired, to be settled `until` an instant. `owed`: leases to return
    undelivered, before the commands. `drained`: receipt ids that the ledger has, each list with the future to
    resolve when they are out of the outbox. `read_at`: when `now` was read, by the steady clock.
    """

    items: Sequence[PendingAsk] = ()
    due: Sequence[Key] = ()
    until: int = 0
    owed: Sequence[Owed] = ()
    drained: Sequence[tuple[list[str], "Future[None]"]] = ()
    answers: list[Answer] = field(default_factory=list)
    events: dict[str, list[Event]] = field(default_factory=dict)
    now: int = 0
    read_at: int = 0
    next_due: int | None = None
    recorded: bool = False
    _kid: str = ""
    _backlog: Backlog | None = None
    _passing: Container[str] = ()

    def transact(self, store: Store, clock: Clock | None, passing: Container[str] = ()) -> None:
        """Decide all commands in one durable transaction. Raises StorageFault; then no answer may be given.

        Receipts of the agents in `passing` are signed and not recorded.
        """
        self._passing = passing
        with store.transaction(self._needs(), clock) as transaction:
            self.now, self.read_at = transaction.now, steady_ms()
            self._backlog = store.backlog
            self._kid = _kid()
            for workspace, world in transaction.worlds.items():
                for event in world.events:
                    self._record_end(transaction, workspace, event, serialize.EXPIRED)
            self._return_undelivered(transaction)
            for item in self.items:
                self.answers.append(self._decide(store, transaction, item.ask))
            for receipt_ids, _ in self.drained:
                transaction.drained(receipt_ids)
        self.next_due = transaction.next_due
        self.events = {
            workspace: world.events for workspace, world in transaction.worlds.items() if world.events
        }

    def split(self) -> list["Batch"]:
        """The same work in the same order as smaller batches, to find the part at fault; none when there is
        a single piece of work."""
        parts = [
            Batch(owed=self.owed, until=self.until),
            Batch(drained=self.drained, until=self.until),
            Batch(due=self.due, until=self.until),
            Batch(self.items, until=self.until),
        ]
        filled = [part for part in parts if part._size()]
        return filled if len(filled) > 1 else self._halves()

    def _size(self) -> int:
        """How many pieces of work there are."""
        return len(self.owed) + len(self.drained) + len(self.due) + len(self.items)

    def _halves(self) -> list["Batch"]:
        """Two batches of work of one kind; none when it is a single piece."""
        half = self._size() // 2
        if not half:
            return []
        return [
            Batch(self.items[part], self.due[part], self.until, self.owed[part], self.drained[part])
            for part in (slice(half), slice(half, None))
        ]

    def names(self) -> str:
        """The pieces of work in words, for the log."""
        asks = (f"{type(item.ask.command).__name__} in {item.workspace}" for item in self.items)
        due = (f"what expired in {workspace}" for workspace in dict(self.due))
        return ", ".join([*due, *(f"return undelivered in {owed.workspace}" for owed in self.owed), *asks])

    def _needs(self) -> dict[str, Needs]:
        needs: dict[str, Needs] = {}
        for owed in self.owed:
            needs.setdefault(owed.workspace, Needs()).resources.add(owed.resource)
        for item in self.items:
            command = item.ask.command
            need = needs.setdefault(item.workspace, Needs())
            need.resources.add(command.resource)
            if not isinstance(command, ENDS):
                need.agents.add(command.agent)
            if isinstance(command, Acquire):
                need.asking.setdefault(command.resource, set()).add(command.agent)
        for workspace, name in self.due:
            need = needs.setdefault(workspace, Needs(until=self.until))
            if need.until is not None:  # a workspace with commands is settled as a whole
                need.resources.add(name)
        return needs

    def _return_undelivered(self, transaction: Transaction) -> None:
        for owed in self.owed:
            if not owed.asked_again(self.items):  # else a command of this batch renews it
                command = ReturnUndelivered(owed.resource, owed.lease_id, owed.expires_at)
                self._end(transaction, owed.workspace, command)

    def _end(self, transaction: Transaction, workspace: str, command: Revoke | ReturnUndelivered) -> Outcome:
        world = transaction.worlds[workspace]
        seen = len(world.events)
        outcome = decide(world, command, transaction.now)
        end = serialize.REVOKED if isinstance(command, Revoke) else serialize.RETURNED_UNDELIVERED
        for event in world.events[seen:]:
            self._record_end(transaction, workspace, event, end)
        return outcome

    def _decide(self, store: Store, transaction: Transaction, ask: Ask) -> Answer:
        command = ask.command
        if isinstance(command, ENDS):
            outcome = self._end(transaction, ask.workspace, command)
            return Answer(outcome, orjson.dumps(serialize.body(command.resource, outcome, store.rules)))
        world = transaction.worlds[ask.workspace]
        world.active_limit = ask.active_limit
        outcome = decide(world, command, transaction.now)
        body = orjson.dumps(serialize.body(command.resource, outcome, store.rules))
        names = serialize.receipt_names(command, outcome)
        if names is None:
            return Answer(outcome, body)
        receipt_id = new_receipt_id()
        claims = receipts.claims(
            iat=transaction.now // 1000,
            jti=receipt_id,
            sub=command.agent,
            auth=ask.auth,
            workspace=ask.workspace,
            event=names[0],
            outcome=names[1],
            resource=command.resource,
            digest=ask.digest,
            result_json=body,
        )
        if isinstance(outcome, RECORDED) and command.agent not in self._passing:
            self._record(transaction, ask.workspace, receipt_id, claims)
        return Answer(outcome, body, claims, receipt_id, self._kid, self._is_first(outcome))

    def _is_first(self, outcome: Outcome) -> bool:
        if not isinstance(outcome, Granted):
            return False
        return not outcome.renewed or outcome.lease.lease_id in {owed.lease_id for owed in self.owed}

    def _record_end(self, transaction: Transaction, workspace: str, event: Event, end: str) -> None:
        """Record the end of a lease that its agent did not release: it expired, or `end` names the receipt's
        event."""
        if event.lease is None or event.kind not in (Kind.EXPIRED, Kind.RELEASED):
            return
        if event.agent in self._passing:
            return
        expired = event.kind is Kind.EXPIRED
        receipt_id = new_receipt_id()
        claims = receipts.claims(
            iat=event.at // 1000,
            jti=receipt_id,
            sub=event.agent,
            auth=None,
            workspace=workspace,
            event=serialize.EXPIRED if expired else end,
            outcome="expired" if expired else "released",
            resource=event.resource,
            digest=None,
            result_json=orjson.dumps(serialize.ended(event, event.lease)),
        )
        self._record(transaction, workspace, receipt_id, claims)

    def _record(self, transaction: Transaction, workspace: str, receipt_id: str, claims: bytes) -> None:
        if self._backlog is None or self._backlog.admit(len(claims)):
            transaction.record(workspace, receipt_id, self._kid, claims)
            self.recorded = True


def _kid() -> str:
    """The id of the key that signs now; empty when there is none. Then leases are given without receipts."""
    try:
        return signing.current().kid
    except Exception as error:
        logger.error("no signing key: %s: %s", type(error).__name__, error)
        return ""
