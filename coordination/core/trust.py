"""How conduct moves an agent's score: exact decimals, kept in 0.0 … 100.0."""

from __future__ import annotations

from decimal import Decimal

from .messages import TrustMove
from .model import Agent, Lease
from .world import World

_MIN = Decimal("0.0")
_MAX = Decimal("100.0")


def earn(world: World, lease: Lease) -> TrustMove:
    """The lease was released."""
    agent = world.know(lease.agent)
    score = _within(agent.trust + world.rules.trust_release)
    world.put_agent(Agent(agent.did, score, agent.releases + 1, agent.expiries, lease.lease_id))
    return TrustMove(score, score - agent.trust, agent.moved_by)


def pay(world: World, lease: Lease) -> TrustMove:
    """The lease was left to run out."""
    agent = world.know(lease.agent)
    score = _within(agent.trust + world.rules.trust_expiry)
    world.put_agent(Agent(agent.did, score, agent.releases, agent.expiries + 1, lease.lease_id))
    return TrustMove(score, score - agent.trust, agent.moved_by)


def _within(score: Decimal) -> Decimal:
    return min(_MAX, max(_MIN, score))
