"""A misspelt argument of a tool that must have it: the problem names the right one."""

import json

import pytest

OPEN = ("lease.acquire", "lease.release")
CLOSED = ("lease.withdraw", "status")
"""The tools that ignore unknown arguments, and the tools that refuse them."""


@pytest.mark.parametrize("tool", [*OPEN, *CLOSED])
@pytest.mark.parametrize(("right", "given"), [("actorDid", "actor_did"), ("resource", "resourse")])
async def test_the_right_name_is_suggested(wire, tool, right, given):
    arguments = {"resource": "lock:a", "actorDid": "did:web:a.example"}
    arguments[given] = arguments.pop(right)
    answer = await wire.call(f"coordination.{tool}", arguments)
    words = f"did you mean {right}?" if tool in CLOSED else f"the name is {right}; you sent {given}"
    assert words in json.dumps(answer)


@pytest.mark.parametrize("given", ["resourse", "Resource", "resource_name"])
async def test_a_misspelt_resource_does_not_show_the_whole_workspace(wire, given):
    await wire.call("coordination.lease.acquire", {"resource": "lock:a", "actorDid": "did:web:a.example"})
    answer = json.dumps(await wire.call("coordination.wait", {given: "lock:b"}))
    assert "did you mean resource?" in answer
    assert "lock:a" not in answer
