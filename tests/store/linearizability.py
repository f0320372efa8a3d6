"""Whether a history of calls on one resource could have happened one call at a time (Wing and Gong, 1993;
with Lowe's memory of tried states, 2017).

Each call takes effect at one instant between its beginning and its end. A call without an answer may take
effect at any instant after its beginning, or never. The expiry of a lease is no call: it may be over for a
call that ends when it is possible, and must be over for a call that begins when it is certain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

Answer = tuple[str, int | str | None]
"""("granted" | "renewed" | "released", token), ("held", holder), ("not_held", another holder or None)."""

SLACK_MS = 5.0
"""How far the clocks of caller and authority may drift apart during a lease, and rounding."""


@dataclass(frozen=True)
class Call:
    """One call and its answer; instants in ms. `answer` is None when there was no answer."""

    kind: str  # "acquire" or "release"
    agent: str
    begun: float
    ended: float = inf
    answer: Answer | None = None


class State(NamedTuple):
    """The state of the resource. `by` is the call that granted or renewed the lease."""

    holder: str | None = None
    token: int = 0
    by: Call | None = None


def is_linearizable(calls: Sequence[Call], ttl_ms: float) -> bool:
    """True when some order of the calls that respects their instants explains all answers."""
    tried: set[tuple[int, State]] = set()
    every = (1 << len(calls)) - 1
    todo: list[tuple[int, State]] = [(every, State())]
    while todo:
        left, state = todo.pop()
        if all(calls[number].answer is None for number in _numbers(left)):
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
    """The states that the resource may be in after the call."""
    for before in _before(state, call, ttl_ms):
        answer, after = _one_at_a_time(before, call)
        if call.answer is None or call.answer == answer:
            yield after


def _before(state: State, call: Call, ttl_ms: float) -> Iterator[State]:
    """The states that the resource may be in when the call takes effect: time may have ended its lease."""
    if state.by is None:
        yield state
        return
    if call.begun <= state.by.ended + ttl_ms + SLACK_MS:
        yield state
    # A lease whose answer was lost may have been returned undelivered.
    if call.ended >= state.by.begun + ttl_ms - SLACK_MS or state.by.answer is None:
        yield State(None, state.token)


def _one_at_a_time(state: State, call: Call) -> tuple[Answer, State]:
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
