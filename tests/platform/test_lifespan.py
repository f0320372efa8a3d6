"""The parts of a process start in order and stop in the reverse order."""

from collections.abc import Callable

import pytest

from intramedial.process.lifespan import Part, Parts, in_thread


def part(name: str, seen: list[str]) -> Part:
    """A part that records its start (a coroutine) and its stop (in a thread)."""

    async def start() -> None:
        seen.append(f"+{name}")

    return Part(start, in_thread(lambda: seen.append(f"-{name}")))


async def test_parts_stop_in_the_reverse_order_and_once() -> None:
    seen: list[str] = []
    parts = Parts(part("a", seen), Part(), part("b", seen))
    await parts.start()
    await parts.stop()
    await parts.stop()
    assert seen == ["+a", "+b", "-b", "-a"]


@pytest.mark.parametrize("wrapped", [in_thread, lambda action: action])
async def test_a_start_that_fails_stops_what_was_started(wrapped: Callable[..., Callable[[], None]]) -> None:
    seen: list[str] = []

    def fail() -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        await Parts(part("a", seen), Part(wrapped(fail)), part("b", seen)).start()
    assert seen == ["+a", "-a"]
