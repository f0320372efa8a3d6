"""One batch: one transaction that decides all that has arrived, in order."""

import logging
from collections.abc import Sequence
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
from coordination.storage.backlog import Backlog
from coordination.storage.clock import Clock, steady_ms
from coordination.storage.engines.base import Key
from coordination.storage.store import Needs, Store, Transaction
from coordination.wire import serialize
from coordination.wire.ids import new_receipt_id
from intramedial.receipts import receipt as receipts
from intramedial.receipts import signing

from .replies import Answer, Ask, Owed, Pending, passing

logger = logging.getLogger(__name__)

ENDS = (Revoke, ReturnUndelivered)
RECORDED = (Granted, Released, Deadlock)  # what the ledger gets; other refusals change nothing


@dataclass(slots=True)
class Batch:
    """The work of one transaction, and what is known of it whether or not it succeeds.

    `due`: resources that have run out, to be settled `until` an instant; `owed`: leases to give back first;
    `drained`: receipt ids that the ledger has, with whom to tell when they are out of the outbox. `read_at`:
    when `now` was read, by the steady clock.
    """

    items: Sequence[Pending] = ()
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

    def transact(self, store: Store, clock: Clock | None) -> None:
        """Decide everything, durably. Raises StorageFault; then no answer may be given."""
        with store.transaction(self._needs(), clock) as transaction:
            self.now, self.read_at = transaction.now, steady_ms()
            self._backlog = store.backlog
            self._kid = _kid()
            for workspace, world in transaction.worlds.items():
                for event in world.events:
                    self._record_end(transaction, workspace, event)
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
        """The same work in the same order as smaller batches, to find what is at fault; none when there is
        nothing to divide."""
        kinds = {"owed": self.owed, "drained": self.drained, "due": self.due, "items": self.items}
        filled = [(kind, work) for kind, work in kinds.items() if work]
        if len(filled) == 1:
            [(kind, work)] = filled
            half = len(work) // 2
            filled = [(kind, work[:half]), (kind, work[half:])] if half else []
        return [Batch(until=self.until, **{kind: work}) for kind, work in filled]

    def names(self) -> str:
        """What is asked for, for the log."""
        asks = (f"{type(item.ask.command).__name__} in {item.workspace}" for item in self.items)
        due = (f"what ran out in {workspace}" for workspace in dict(self.due))
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
            if need.until is not None:  # where something is decided, all that has run out is looked at anyway
                need.resources.add(name)
        return needs

    def _return_undelivered(self, transaction: Transaction) -> None:
        for owed in self.owed:
            if not owed.asked_again(self.items):  # else it is renewed
                command = ReturnUndelivered(owed.resource, owed.lease_id, owed.expires_at)
                self._end(transaction, owed.workspace, command)

    def _end(self, transaction: Transaction, workspace: str, command: Revoke | ReturnUndelivered) -> Outcome:
        world = transaction.worlds[workspace]
        seen = len(world.events)
        outcome = decide(world, command, transaction.now)
        for event in world.events[seen:]:
            self._record_end(transaction, workspace, event)
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
        if isinstance(outcome, RECORDED) and command.agent not in passing:
            self._record(transaction, ask.workspace, receipt_id, claims)
        return Answer(outcome, body, claims, receipt_id, self._kid, self._is_first(outcome))

    def _is_first(self, outcome: Outcome) -> bool:
        if not isinstance(outcome, Granted):
            return False
        return not outcome.renewed or outcome.lease.lease_id in {owed.lease_id for owed in self.owed}

    def _record_end(self, transaction: Transaction, workspace: str, event: Event) -> None:
        """Record a lease that ended without its agent: it ran out, was revoked or returned undelivered."""
        if event.lease is None or event.kind not in (Kind.EXPIRED, Kind.RELEASED) or event.agent in passing:
            return
        expired = event.kind is Kind.EXPIRED
        receipt_id = new_receipt_id()
        claims = receipts.claims(
            iat=event.at // 1000,
            jti=receipt_id,
            sub=event.agent,
            auth=None,
            workspace=workspace,
            event="coordination.expire" if expired else serialize.ENDED_EARLY,
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
    """The key that signs now; empty when there is none to be had: the lease stands without a receipt."""
    try:
        return signing.current().kid
    except Exception as error:
        logger.error("no signing key: %s: %s", type(error).__name__, error)
        return ""
