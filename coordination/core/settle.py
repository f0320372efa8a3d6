"""What time alone changes: leases expire, waits and offers lapse, the next waiter gets an offer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .messages import Event, Kind
from .model import Resource, Rules, Wait
from .waitgraph import is_free
from .world import World


def settle(world: World, now: int, names: Iterable[str] | None = None) -> None:
    """End all that has expired at `now`, each at its own instant and in time order. `names`: the resources
    that may have changed; by default all.

    Trust moves of one agent on several resources are made in time order too. So the events of all resources
    are sorted before any score moves. Events of one instant are sorted by name, so that their order does not
    depend on where the resources come from.
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
    """One step: all that ends at `instant`, then the offers that this makes possible."""
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
    """An outage costs no agent its place or its offer: what would have ended in it begins again at its
    end."""
    if wait.ends_at(rules) > instant:
        return wait
    if wait.offered_at is not None:
        return replace(wait, offered_at=until)
    return replace(wait, asked_at=until)


def _without_lapsed(
    resource: Resource, instant: int, rules: Rules, happened: list[Event]
) -> tuple[Wait, ...]:
    """The queue without the waits that end. When an offer lapses, all waits end whose agents have not
    asked since that offer began. So a queue of dead agents delays a free resource by one offer, not one
    per waiter."""
    lapsing = [wait for wait in resource.queue if wait.ends_at(rules) <= instant]
    if not lapsing:
        return resource.queue
    begun = max((wait.offered_at for wait in lapsing if wait.offered_at is not None), default=None)
    ending = {
        wait.agent
        for wait in resource.queue
        if wait.ends_at(rules) <= instant or (begun is not None and wait.asked_at < begun)
    }
    happened.extend(
        Event(Kind.LAPSED, instant, resource.name, wait.agent)
        for wait in resource.queue
        if wait.agent in ending
    )
    return tuple(wait for wait in resource.queue if wait.agent not in ending)


def offer(resource: Resource, now: int, rules: Rules, happened: list[Event]) -> Resource:
    """The resource with an offer for every waiter that has no blocker left."""
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
