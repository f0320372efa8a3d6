"""Percentiles, medians and spreads."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple


class Spread(NamedTuple):
    """A figure that was measured several times."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """The median of the values, with the lowest and the highest of them."""
    return Spread(median(values), min(values), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0 … 1) of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    rank = -int(-share * len(ordered) // 1)  # rounded up
    return ordered[max(rank, 1) - 1]


def shown(value: float) -> str:
    """A figure for people: three significant digits, thousands separated."""
    if value >= 1000:
        return f"{round(value, -1 if value >= 10_000 else 0):,.0f}".replace(",", " ")
    if value >= 100 or value == round(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
