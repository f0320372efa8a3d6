"""`end_task` ends a task, even if the task ignores a cancellation."""

import asyncio

from coordination.authority.publisher import end_task


async def test_a_task_that_ignores_a_cancellation_is_ended() -> None:
    lost = 0

    async def stubborn() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost += 1

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await end_task(task)
    assert task.cancelled()
    assert lost == 1


async def test_an_error_of_an_ended_task_is_not_raised() -> None:
    async def fails() -> None:
        raise RuntimeError("planted")

    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    await end_task(task)
