"""Whether a history of calls on one resource could have happened one call at a time (Wing and Gong, 1993,
with Lowe's memory of what was tried, 2017).

Each call takes effect at one instant between its beginning and its end. One without an answer may take effect
at any instant after its beginning, or at none. That a lease runs out is nobody's call: it may be over for a
call that ends when it can be, and must be for one that begins when it is bound to be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

Told = tuple[str, int | str | None]
"""("granted" | "renewed" | "released", token), ("held", holder), ("not_held", another holder or None)."""

SLACK_MS = 5.0
"""How far the clocks of caller and authority may drift apart while a lease lasts, and rounding."""


@dataclass(frozen=True)
class Call:
    """One call and what its agent was told; instants in ms. `told`: None when there was no answer."""

    kind: str  # "acquire" or "release"
    agent: str
    begun: float
    ended: float = inf
    told: Told | None = None


class State(NamedTuple):
    """Of the resource; `by`: the call that granted or renewed the lease."""

    holder: str | None = None
    token: int = 0
    by: Call | None = None


def is_linearizable(calls: Sequence[Call], ttl_ms: float) -> bool:
    """True when some order of the calls, one that keeps to their instants, explains all that was told."""
    tried: set[tuple[int, State]] = set()
    every = (1 << len(calls)) - 1
    todo: list[tuple[int, State]] = [(every, State())]
    while todo:
        left, state = todo.pop()
        if all(calls[number].told is None for number in _numbers(left)):
            return True
        if (left, state) in tried:
            continue
        tried.add((left, state))
        first_end = min(calls[number].ended for number in _numbers(left))
        for number in _numbers(left):
            call = calls[number]
            if call.begun <= first_end:
                todo += [(left & ~(1 << number), after) for after in _after(state, call, ttl_ms)]
    return False


def _numbers(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _after(state: State, call: Call, ttl_ms: float) -> Iterator[State]:
    """What the resource may be after the call."""
    for before in _before(state, call, ttl_ms):
        told, after = _one_at_a_time(before, call)
        if call.told is None or call.told == told:
            yield after


def _before(state: State, call: Call, ttl_ms: float) -> Iterator[State]:
    """What the resource may be when the call takes effect: time may have ended its lease."""
    if state.by is None:
        yield state
        return
    if call.begun <= state.by.ended + ttl_ms + SLACK_MS:
        yield state
    # A lease that nobody was told of may have been given back.
    if call.ended >= state.by.begun + ttl_ms - SLACK_MS or state.by.told is None:
        yield State(None, state.token)


def _one_at_a_time(state: State, call: Call) -> tuple[Told, State]:
    """The rule, for one exclusive resource without a queue."""
    holder, token, _ = state
    if call.kind == "acquire":
        if holder is None:
            return ("granted", token + 1), State(call.agent, token + 1, call)
        if holder == call.agent:
            return ("renewed", token), State(holder, token, call)
        return ("held", holder), state
    if holder == call.agent:
        return ("released", token), State(None, token)
    return ("not_held", holder), state
