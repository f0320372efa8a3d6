"""Turns between workspaces, order within one, and the limits of pending commands."""

import random
from dataclasses import dataclass

import pytest

from coordination.authority.queue import CommandQueue


@dataclass(frozen=True)
class Item:
    workspace: str
    number: int = 0


def queue(limit: int = 1_000, share: int = 1_000) -> CommandQueue[Item]:
    return CommandQueue(limit, share)


def test_workspaces_take_turns() -> None:
    box = queue()
    for number in range(5):
        box.put(Item("busy", number))
    box.put(Item("quiet"))
    assert box.take(3, 0) == [Item("busy", 0), Item("quiet"), Item("busy", 1)]
    assert box.take(10, 0) == [Item("busy", 2), Item("busy", 3), Item("busy", 4)]


def test_a_command_of_another_workspace_waits_for_its_turn_only() -> None:
    box = queue()
    for number in range(900):
        box.put(Item("busy", number))
    assert len(box.take(256, 0)) == 256
    box.put(Item("quiet"))
    assert Item("quiet") in box.take(2, 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_within_a_workspace_is_kept(seed: int) -> None:
    choose = random.Random(seed)
    box, put, taken = queue(), [], []
    while len(put) < 500 or len(box):
        if len(put) < 500 and choose.random() < 0.6:
            put.append(Item(f"ws_{choose.randrange(5)}", len(put)))
            assert box.put(put[-1])
        else:
            taken += box.take(choose.randrange(1, 9), 0)
        assert len(box) == len(put) - len(taken)
    assert sorted(taken, key=lambda item: item.number) == put
    for workspace in {item.workspace for item in put}:
        mine = [item.number for item in taken if item.workspace == workspace]
        assert mine == sorted(mine)


def test_the_queue_keeps_nothing_of_taken_commands() -> None:
    box = queue(share=1)
    for number in range(1_000):
        assert box.put(Item(f"ws_{number}"))
    assert len(box.take(1_000, 0)) == 1_000
    assert (box._lanes, box._waiting, len(box)) == ({}, {}, 0)


def test_a_workspace_that_floods_does_not_keep_others_out() -> None:
    box = queue(limit=10, share=4)
    assert [box.put(Item("busy", number)) for number in range(6)] == [True] * 4 + [False] * 2
    assert [box.put(Item("quiet", number)) for number in range(2)] == [True] * 2
    box.take(3, 0)
    assert box.put(Item("busy"))


def test_all_pending_commands_together_have_a_limit() -> None:
    box = queue(limit=10)
    assert [box.put(Item(f"ws_{number}")) for number in range(12)] == [True] * 10 + [False] * 2


def test_commands_from_before_the_close_are_taken() -> None:
    box = queue()
    box.put(Item("ws_1"))
    box.close()
    assert not box.put(Item("ws_1"))
    assert box.take(10, 5) == [Item("ws_1")]
    assert (len(box), box.take(10, 0)) == (0, [])


def test_a_wake_ends_a_take_that_waits() -> None:
    box = queue()
    box.wake()
    assert box.take(10, 60) == []
