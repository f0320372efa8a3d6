"""How conduct moves an agent's score: exact decimals, kept in 0.0 … 100.0."""

from __future__ import annotations

from decimal import Decimal

from .messages import TrustMove
from .model import Agent
from .world import World

_MIN = Decimal("0.0")
_MAX = Decimal("100.0")


def earn(world: World, did: str) -> TrustMove:
    """A lease was released."""
    agent = world.know(did)
    score = _within(agent.trust + world.rules.trust_release)
    world.put_agent(Agent(did, score, agent.releases + 1, agent.expiries))
    return TrustMove(score, score - agent.trust)


def pay(world: World, did: str) -> TrustMove:
    """A lease was left to run out."""
    agent = world.know(did)
    score = _within(agent.trust + world.rules.trust_expiry)
    world.put_agent(Agent(did, score, agent.releases, agent.expiries + 1))
    return TrustMove(score, score - agent.trust)


def _within(score: Decimal) -> Decimal:
    return min(_MAX, max(_MIN, score))
