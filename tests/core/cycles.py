"""Every shortest cycle of a wait-for graph, found by trying all orderings of its agents."""

from __future__ import annotations

from itertools import pairwise, permutations, product

Edge = tuple[str, str, str]  # who waits, for which resource, for whom
Chain = tuple[tuple[str, str], ...]  # (agent, the resource it waits for), one entry an agent


def shortest_cycles(edges: set[Edge], agent: str, resource: str, first: str) -> list[Chain]:
    """All shortest chains from `agent`, which waits for `first` on `resource`, back to `agent`."""
    others = sorted({waiter for waiter, _, _ in edges} - {agent, first})
    for length in range(len(others) + 1):
        found: list[Chain] = []
        for middle in permutations(others, length):
            way = (first, *middle, agent)
            choices = [
                [r for waiter, r, blocker in edges if (waiter, blocker) == pair] for pair in pairwise(way)
            ]
            for through in product(*choices):
                found.append(((agent, resource), *zip(way, through, strict=False)))
        if found:
            return found
    return []


def has_cycle(edges: set[Edge]) -> bool:
    """Whether anybody waits for itself in the end: take away, again and again, those who wait for nobody."""
    left = {(waiter, blocker) for waiter, _, blocker in edges}
    while True:
        waiting = {waiter for waiter, _ in left}
        kept = {(waiter, blocker) for waiter, blocker in left if blocker in waiting}
        if kept == left:
            return bool(left)
        left = kept
