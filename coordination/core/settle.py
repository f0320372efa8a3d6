"""What time alone does: leases run out, waits and offers lapse, the next in line is offered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .messages import Event, Kind
from .model import Resource, Rules, Wait
from .waitgraph import is_free
from .world import World


def settle(world: World, now: int, names: Iterable[str] | None = None) -> None:
    """Take away all that has run out at `now`, each at its own instant and in time order. `names`: those of
    the resources that may have; without it, all are looked at.

    Trust moves of one agent on several resources are made in time order too, whoever notices, so the events
    of all resources are sorted before any score moves; those of one instant by name, so that the order is the
    same wherever the resources come from.
    """
    happened: list[Event] = []
    for name in list(world.resources if names is None else names):
        resource = world.resources[name]
        instant = resource.next_change(world.rules)
        if instant is None or instant > now:
            continue
        while instant is not None and instant <= now:
            resource = _end(resource, instant, world, happened)
            instant = resource.next_change(world.rules)
        world.put(resource)
    happened.sort(key=lambda event: (event.at, event.resource))
    for event in happened:
        if event.kind is Kind.EXPIRED and event.lease is not None and not event.outage:
            event = replace(event, trust=world.pay(event.lease))
        world.events.append(event)


def _end(resource: Resource, instant: int, world: World, happened: list[Event]) -> Resource:
    """One step: all that ends at `instant`, and after it the offers that this makes possible."""
    rules = world.rules
    outage = next((outage for outage in world.outages if outage.covers(instant)), None)
    for lease in resource.leases:
        if lease.expires_at <= instant:
            happened.append(
                Event(
                    Kind.EXPIRED, instant, resource.name, lease.agent, lease=lease, outage=outage is not None
                )
            )
    leases = tuple(lease for lease in resource.leases if lease.expires_at > instant)
    queue = resource.queue
    if outage is not None:
        queue = tuple(_begin_anew(wait, instant, outage.until, rules) for wait in queue)
    else:
        queue = _without_lapsed(resource, instant, rules, happened)
    refusals = tuple(refusal for refusal in resource.refusals if refusal.at + rules.wait_ttl_ms > instant)
    return offer(replace(resource, leases=leases, queue=queue, refusals=refusals), instant, rules, happened)


def _begin_anew(wait: Wait, instant: int, until: int, rules: Rules) -> Wait:
    """Our own outage takes no place and no offer from anybody: what ran out in it begins again at its end."""
    if wait.ends_at(rules) > instant:
        return wait
    if wait.offered_at is not None:
        return replace(wait, offered_at=until)
    return replace(wait, asked_at=until)


def _without_lapsed(
    resource: Resource, instant: int, rules: Rules, happened: list[Event]
) -> tuple[Wait, ...]:
    """The queue without the waits that end. A lapsing offer takes along every wait whose agent has been
    silent since it began: a dead queue holds up a free resource for one offer, not for one per waiter."""
    lapsing = [wait for wait in resource.queue if wait.ends_at(rules) <= instant]
    if not lapsing:
        return resource.queue
    begun = max((wait.offered_at for wait in lapsing if wait.offered_at is not None), default=None)
    gone = {
        wait.agent
        for wait in resource.queue
        if wait.ends_at(rules) <= instant or (begun is not None and wait.asked_at < begun)
    }
    happened.extend(
        Event(Kind.LAPSED, instant, resource.name, wait.agent)
        for wait in resource.queue
        if wait.agent in gone
    )
    return tuple(wait for wait in resource.queue if wait.agent not in gone)


def offer(resource: Resource, now: int, rules: Rules, happened: list[Event]) -> Resource:
    """The resource with an offer begun for every waiter that nobody holds back any more."""
    if not resource.queue:
        return resource
    queue = []
    for wait in resource.queue:
        free = is_free(resource, wait.agent, wait.mode)
        if free and wait.offered_at is None:
            wait = replace(wait, offered_at=now)
            happened.append(
                Event(
                    Kind.OFFERED, now, resource.name, wait.agent, mode=wait.mode, until=now + rules.offer_ms
                )
            )
        elif not free and wait.offered_at is not None:
            wait = replace(wait, offered_at=None)
        queue.append(wait)
    return replace(resource, queue=tuple(queue))
