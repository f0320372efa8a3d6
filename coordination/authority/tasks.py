"""How a task of the event loop is ended."""

import asyncio

AGAIN_S = 0.1


async def end(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait until it has ended; what it raised is nobody's any more.

    Asked again until it has: a cancellation can be lost, as `asyncio.wait_for` loses it before Python 3.12
    when what it waits for is done in that very moment, and the channel layers use it.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=AGAIN_S)
    if not task.cancelled():
        task.exception()
