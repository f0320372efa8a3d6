"""How conduct moves an agent's score: exact decimals, kept in 0.0 … 100.0."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from .messages import TrustMove
from .model import Agent
from .world import World

_MIN = Decimal("0.0")
_MAX = Decimal("100.0")


def earn(world: World, did: str) -> TrustMove:
    """A lease was released."""
    agent = world.know(did)
    return _move(world, replace(agent, releases=agent.releases + 1), world.rules.trust_release)


def pay(world: World, did: str) -> TrustMove:
    """A lease was left to run out."""
    agent = world.know(did)
    return _move(world, replace(agent, expiries=agent.expiries + 1), world.rules.trust_expiry)


def _move(world: World, agent: Agent, by: Decimal) -> TrustMove:
    score = min(_MAX, max(_MIN, agent.trust + by))
    world.put_agent(replace(agent, trust=score))
    return TrustMove(score, score - agent.trust)
