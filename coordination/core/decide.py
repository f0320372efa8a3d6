"""Decide one command. The outcome is returned, the world is changed, and its events say what happened."""

from __future__ import annotations

from dataclasses import replace

from .messages import (
    Acquire,
    Command,
    Deadlock,
    Ended,
    Event,
    Granted,
    Held,
    Kind,
    LimitReached,
    NotReleased,
    Outcome,
    Reason,
    Release,
    Released,
    ReturnUndelivered,
    Revoke,
    TrustMove,
    Withdraw,
    Withdrawn,
)
from .model import Lease, Mode, Refusal, Resource, Rules, Wait
from .settle import offer
from .waitgraph import find_cycle, is_free
from .world import World


def decide(world: World, command: Command, now: int) -> Outcome:
    """Decide one command in a world that is settled at `now`."""
    match command:
        case Acquire():
            return _acquire(world, command, now)
        case Release():
            return _release(world, command, now)
        case Withdraw():
            return _withdraw(world, command, now)
        case Revoke() | ReturnUndelivered():
            return _end_early(world, command, now)


def _store(world: World, resource: Resource, now: int) -> None:
    world.put(offer(resource, now, world.rules, world.events))


# --- acquire --------------------------------------------------------------------------------------


def _acquire(world: World, ask: Acquire, now: int) -> Outcome:
    resource = world.resource(ask.resource)
    lease = resource.lease_of(ask.agent)
    if lease is not None and lease.mode.covers(ask.mode):
        return _renew(world, resource, lease, now)
    if not resource.active and world.active_limit is not None and world.active >= world.active_limit:
        return LimitReached(world.active_limit)
    wait = resource.wait_of(ask.agent)
    if wait is not None and wait.mode is not ask.mode:
        resource, wait = _leave_queue(world, resource, wait, now), None
    if is_free(resource, ask.agent, ask.mode):
        return _grant(world, resource, ask, now)
    cycle = find_cycle(world, resource, ask.agent, ask.mode)
    if cycle:
        return _deadlock(world, resource, ask, Deadlock(cycle[1].agent, cycle[1].waits_for, cycle), now)
    return _refuse_held(world, resource, ask, wait, now)


def _renew(world: World, resource: Resource, lease: Lease, now: int) -> Granted:
    renewed = replace(lease, expires_at=now + world.rules.lease_ttl_ms)
    leases = tuple(renewed if held is lease else held for held in resource.leases)
    refusals = _answered(resource.refusals, lease.agent, lease.mode)
    world.put(replace(resource, leases=leases, refusals=refusals))
    world.events.append(Event(Kind.RENEWED, now, resource.name, lease.agent, lease=renewed))
    return Granted(resource.name, renewed, renewed=True)


def _grant(world: World, resource: Resource, ask: Acquire, now: int) -> Granted:
    token = resource.last_token + 1
    lease = Lease(ask.lease_id, ask.agent, ask.mode, token, now, now + world.rules.lease_ttl_ms)
    others = tuple(held for held in resource.leases if held.agent != ask.agent)
    queue = resource.queue
    if queue:
        queue = tuple(wait for wait in queue if wait.agent != ask.agent)
    refusals = _answered(resource.refusals, ask.agent, ask.mode)
    world.know(ask.agent)
    world.events.append(Event(Kind.GRANTED, now, resource.name, ask.agent, lease=lease))
    _store(world, Resource(resource.name, token, (*others, lease), queue, refusals), now)
    return Granted(resource.name, lease)


def _deadlock(world: World, resource: Resource, ask: Acquire, outcome: Deadlock, now: int) -> Deadlock:
    wait = resource.wait_of(ask.agent)
    if wait is not None:
        resource = _leave_queue(world, resource, wait, now)
    refusal = Refusal(ask.agent, ask.mode, outcome.holder, now)
    resource = replace(resource, refusals=(*_forget(resource.refusals, ask.agent), refusal))
    world.events.append(Event(Kind.DEADLOCK, now, resource.name, ask.agent, mode=ask.mode, deadlock=outcome))
    _store(world, resource, now)
    return outcome


def _refuse_held(world: World, resource: Resource, ask: Acquire, wait: Wait | None, now: int) -> Held:
    rules = world.rules
    if wait is not None:
        refreshed = replace(wait, asked_at=now)
        queue = tuple(refreshed if queued is wait else queued for queued in resource.queue)
        wait = refreshed
    elif ask.queue and len(resource.queue) < rules.queue_limit:
        wait = Wait(ask.agent, ask.mode, since=now, asked_at=now)
        queue = (*resource.queue, wait)
        world.know(ask.agent)
        world.events.append(
            Event(Kind.QUEUED, now, resource.name, ask.agent, mode=ask.mode, until=wait.ends_at(rules))
        )
    else:
        queue = resource.queue
    refusals = _answered(resource.refusals, ask.agent, ask.mode)
    resource = replace(resource, queue=queue, refusals=refusals)
    _store(world, resource, now)
    return _held(world.resource(resource.name), ask, wait, rules)


def _held(resource: Resource, ask: Acquire, wait: Wait | None, rules: Rules) -> Held:
    """`holder` is the first other holder, or the first agent under offer when there is none. A conflict
    depends on the mode alone, so either all other holders conflict or none does."""
    leases = [lease for lease in resource.leases if lease.agent != ask.agent]
    place = resource.queue.index(wait) if wait is not None else len(resource.queue)
    offered = not leases
    return Held(
        holder=leases[0].agent if leases else _offered_to(resource),
        holders=tuple(lease.agent for lease in leases),
        offered=offered,
        expires_at=max((lease.expires_at for lease in leases), default=None),
        position=place + 1 if wait is not None else None,
        kept_until=wait.ends_at(rules) if wait is not None else None,
        admitted=len(resource.queue),
        wait_ms=rules.wait_ms(place),
    )


def _offered_to(resource: Resource) -> str:
    return next(wait.agent for wait in resource.queue if wait.offered_at is not None)


def _leave_queue(world: World, resource: Resource, wait: Wait, now: int) -> Resource:
    world.events.append(Event(Kind.WITHDRAWN, now, resource.name, wait.agent))
    left = replace(resource, queue=tuple(queued for queued in resource.queue if queued is not wait))
    world.put(left)  # a search for cycles must not find the wait that has ended
    return left


def _forget(refusals: tuple[Refusal, ...], agent: str) -> tuple[Refusal, ...]:
    if not refusals:
        return refusals
    return tuple(refusal for refusal in refusals if refusal.agent != agent)


def _answered(refusals: tuple[Refusal, ...], agent: str, mode: Mode) -> tuple[Refusal, ...]:
    """Without the deadlock refusals that a later answer to the same request replaces."""
    if not refusals:
        return refusals
    return tuple(refusal for refusal in refusals if refusal.agent != agent or not mode.covers(refusal.mode))


# --- release, withdraw, revoke, return undelivered -------------------------------------------------


def _release(world: World, ask: Release, now: int) -> Outcome:
    resource = world.resource(ask.resource)
    lease = resource.lease_of(ask.agent)
    if lease is None or (ask.lease_id is not None and lease.lease_id != ask.lease_id):
        reason = Reason.NOT_HELD if ask.lease_id is None else Reason.STALE_LEASE
        return NotReleased(
            reason, next((held.agent for held in resource.leases if held.agent != ask.agent), None)
        )
    moved = world.earn(lease)
    _end_lease(world, resource, lease, now, moved)
    return Released(lease.lease_id, resource.name, lease.token, moved.score, moved.delta)


def _end_lease(world: World, resource: Resource, lease: Lease, now: int, trust: TrustMove | None) -> None:
    leases = tuple(held for held in resource.leases if held is not lease)
    world.events.append(Event(Kind.RELEASED, now, resource.name, lease.agent, lease=lease, trust=trust))
    _store(
        world, Resource(resource.name, resource.last_token, leases, resource.queue, resource.refusals), now
    )


def _withdraw(world: World, ask: Withdraw, now: int) -> Withdrawn:
    resource = world.resource(ask.resource)
    wait = resource.wait_of(ask.agent)
    refusals = _forget(resource.refusals, ask.agent)
    if wait is None and len(refusals) == len(resource.refusals):
        return Withdrawn(False)
    if wait is not None:
        resource = _leave_queue(world, resource, wait, now)
    _store(world, replace(resource, refusals=refusals), now)
    return Withdrawn(True)


def _end_early(world: World, ask: Revoke | ReturnUndelivered, now: int) -> Ended:
    resource = world.resource(ask.resource)
    lease = next((lease for lease in resource.leases if lease.lease_id == ask.lease_id), None)
    renewed = lease is not None and isinstance(ask, ReturnUndelivered) and lease.expires_at != ask.expires_at
    if lease is None or renewed:
        return Ended(False)
    _end_lease(world, resource, lease, now, None)
    return Ended(True)
