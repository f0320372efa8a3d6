"""A misspelt argument of a tool that must have it: the problem names the right one."""

import json

import pytest

TOOLS = ("lease.acquire", "lease.release", "lease.withdraw", "status")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("right", "given"), [("actorDid", "actor_did"), ("resource", "resourse")])
async def test_the_right_name_is_said(wire, tool, right, given):
    arguments = {"resource": "lock:a", "actorDid": "did:web:a.example"}
    arguments[given] = arguments.pop(right)
    answer = await wire.call(f"coordination.{tool}", arguments)
    # Not by its place: whether it is an error of the protocol or a result is not this test's affair.
    assert f"the name is {right}; you sent {given}" in json.dumps(answer)


@pytest.mark.parametrize("given", ["resourse", "Resource", "resource_name"])
async def test_a_misspelt_resource_does_not_show_the_whole_workspace(wire, given):
    await wire.call("coordination.lease.acquire", {"resource": "lock:a", "actorDid": "did:web:a.example"})
    answer = json.dumps(await wire.call("coordination.wait", {given: "lock:b"}))
    assert "did you mean resource?" in answer
    assert "lock:a" not in answer


async def test_other_unknown_arguments_are_ignored(wire):
    answer = json.dumps(await wire.call("coordination.wait", {"verbose": True}))
    assert "serverTime" in answer
