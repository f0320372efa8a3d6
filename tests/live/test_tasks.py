"""A task is ended even if it loses a cancellation."""

import asyncio

from coordination.authority.publisher import end_task


async def test_a_task_that_loses_a_cancellation_is_ended_all_the_same() -> None:
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


async def test_what_an_ended_task_raised_is_nobodys() -> None:
    async def fails() -> None:
        raise RuntimeError("planted")

    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    await end_task(task)
