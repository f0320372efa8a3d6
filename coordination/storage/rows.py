"""Turns rows that were loaded into values of the core, and changed values into rows to write."""

from collections.abc import Iterator

from coordination.core.messages import Event
from coordination.core.model import Lease, Mode, Refusal, Wait

from .engines.base import Key, Members, Row

Changes = dict[str, list[Row]]
MemberValues = tuple[list[Lease], list[Wait], list[Refusal]]


def grouped(members: Members) -> dict[Key, MemberValues]:
    """The leases, waits and refusals of each resource, as values of the core."""
    parts: dict[Key, MemberValues] = {}
    for workspace, name, lease_id, agent, mode, token, acquired_at, expires_at in members.leases:
        lease = Lease(lease_id, agent, Mode(mode), token, acquired_at, expires_at)
        parts.setdefault((workspace, name), ([], [], []))[0].append(lease)
    for workspace, name, agent, mode, since, asked_at, offered_at in members.waits:
        wait = Wait(agent, Mode(mode), since, asked_at, offered_at)
        parts.setdefault((workspace, name), ([], [], []))[1].append(wait)
    for workspace, name, agent, mode, holder, at in members.refusals:
        refusal = Refusal(agent, Mode(mode), holder, at)
        parts.setdefault((workspace, name), ([], [], []))[2].append(refusal)
    return parts


def add(changes: Changes, name: str, row: Row) -> None:
    """Add a row to the write of this name."""
    changes.setdefault(name, []).append(row)


def change_leases(changes: Changes, key: Key, before: tuple[Lease, ...], after: tuple[Lease, ...]) -> None:
    """Add the writes that turn the leases `before` into those `after`; one that is the same object stays."""
    old = {lease.lease_id: lease for lease in before}
    for lease in after:
        known = old.pop(lease.lease_id, None)
        if known is None:
            row = (lease.lease_id, lease.agent, str(lease.mode), lease.token)
            add(changes, "lease_insert", (*key, *row, lease.acquired_at, lease.expires_at))
        elif known is not lease:
            add(changes, "lease_update", (lease.expires_at, lease.lease_id))
    for lease_id in old:
        add(changes, "lease_delete", (lease_id,))


def change_queue(changes: Changes, key: Key, before: tuple[Wait, ...], after: tuple[Wait, ...]) -> None:
    """A queue loses waits anywhere and gains them at its end, so rows in the same order stay. An agent that
    left and came back gets a new row, because the order of rows is the order of the queue."""
    kept = 0
    rest = iter(before)
    for wait in after:
        match = next((old for old in _continued(changes, key, rest, wait)), None)
        if match is None:
            break
        kept += 1
        if match is not wait:
            add(changes, "wait_update", (wait.asked_at, wait.offered_at, *key, wait.agent))
    for old in rest:
        add(changes, "wait_delete", (*key, old.agent))
    for wait in after[kept:]:
        row = (wait.agent, str(wait.mode), wait.since, wait.asked_at, wait.offered_at)
        add(changes, "wait_insert", (*key, *row))


def _continued(changes: Changes, key: Key, rest: Iterator[Wait], wait: Wait) -> Iterator[Wait]:
    """The old wait that `wait` continues, if there is one; the old waits before it are deleted."""
    for old in rest:
        if (old.agent, old.mode, old.since) == (wait.agent, wait.mode, wait.since):
            yield old
            return
        add(changes, "wait_delete", (*key, old.agent))


def change_refusals(
    changes: Changes, key: Key, before: tuple[Refusal, ...], after: tuple[Refusal, ...]
) -> None:
    """Refusals are compared by identity: a second refusal in the same millisecond is equal to the first,
    but it comes last."""
    old, new = set(map(id, before)), set(map(id, after))
    for refusal in before:
        if id(refusal) not in new:
            add(changes, "refusal_delete", (*key, refusal.agent))
    for refusal in after:
        if id(refusal) not in old:
            row = (refusal.agent, str(refusal.mode), refusal.holder, refusal.at)
            add(changes, "refusal_insert", (*key, *row))


def change_trust(changes: Changes, workspace: str, events: list[Event]) -> None:
    """Add the trust moves of these events; scores are stored in tenths."""
    for event in events:
        if event.trust is not None and event.lease is not None:
            delta, score = int(event.trust.delta * 10), int(event.trust.score * 10)
            row = (workspace, event.agent, event.lease.lease_id, delta, score, event.at)
            add(changes, "trust_insert", (*row, event.trust.before))
