"""Bad bodies and queries: each gets its documented reason and status as problem JSON, and changes nothing."""

import pytest

from tests.api.bad import BAD_DIDS, BAD_RESOURCES, GOOD, MALFORMED, WRONG_TYPES, raw
from tests.api.client import AGENTS, LEASE, RELEASE, WAIT, did, problem

LONGEST_BODY = 16_384
LONGEST_QUERY = 8_192


def pointers(answer):
    return [fault["pointer"] for fault in problem(answer, 422, "invalid_request")["errors"]]


@pytest.mark.parametrize("path", [LEASE, RELEASE])
async def test_malformed_json_is_refused(caller, nothing_changes, path):
    for body in MALFORMED.values():
        problem(await caller.call("POST", path, body), 400, "malformed_json")


async def test_json_at_the_limits_is_accepted(caller):
    deepest = raw(more=', "x": ' + "[" * 15 + "]" * 15)
    longest = raw(more=', "x": "' + "x" * (LONGEST_BODY - len(raw()) - 9) + '"')
    assert len(longest) == LONGEST_BODY
    brackets = raw(more=', "x": "' + "[{" * 100 + '\\"{:"')
    siblings = raw(more=', "x": [' + ",".join(["{}"] * 1000) + "]")
    large = raw(
        more=', "x": 123456789012345678901234567890, "y": -0.0, "z": 1e-999, "w": {"a": {}, "b": {"a": 1}}'
    )
    for body in (deepest, longest, brackets, siblings, large, b" \r\n\t" + raw() + b"\n"):
        answer = await caller.call("POST", LEASE, body)
        assert answer.status_code == 200, answer.text


async def test_bad_resources_are_refused(caller, nothing_changes):
    for resource in BAD_RESOURCES.values():
        body = GOOD | {"resource": resource}
        for path in (LEASE, RELEASE):
            assert pointers(await caller.call("POST", path, body)) == ["/resource"]
        assert pointers(await caller.call("GET", WAIT, params={"resource": resource})) == ["/resource"]
        assert pointers(await caller.withdraw(resource, did("a"))) == ["/resource"]


async def test_names_are_compared_in_nfc_and_may_be_256_characters_long(caller):
    composed, decomposed = "lock:é", "lock:e\u0301"
    assert (await caller.lease(decomposed, did("a"))).json()["lease"]["resource"] == composed
    assert (await caller.lease(composed, did("b"))).status_code == 409
    assert (await caller.lease("é" * 256, did("a"))).status_code == 200
    assert (await caller.lease("e\u0301" * 256, did("b"))).status_code == 409
    assert (await caller.lease("lock:a%23b", did("a"))).json()["lease"]["resource"] == "lock:a%23b"


async def test_bad_dids_are_refused(caller, nothing_changes):
    for actor in BAD_DIDS.values():
        for path in (LEASE, RELEASE):
            assert pointers(await caller.call("POST", path, GOOD | {"actorDid": actor})) == ["/actorDid"]
        if len(actor) < LONGEST_QUERY:
            assert pointers(await caller.withdraw("lock:a", actor)) == ["/actorDid"]
            assert pointers(await caller.call("GET", AGENTS, params={"did": actor})) == ["/did"]


@pytest.mark.parametrize(
    "actor",
    [
        "did:web:a%3A8443:b",
        "did:example:" + "a" * 244,
        "did:a1:::b",
        "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc",
    ],
)
async def test_dids_of_other_methods_and_key_types_are_agents_too(caller, actor):
    assert (await caller.lease("lock:a", actor)).json()["lease"]["holder"] == actor
    assert await caller.trust(actor)


async def test_values_of_the_wrong_type_are_refused(caller, nothing_changes):
    for value in WRONG_TYPES.values():
        assert pointers(await caller.call("POST", LEASE, GOOD | {"resource": value})) == ["/resource"]
        assert pointers(await caller.call("POST", LEASE, GOOD | {"actorDid": value})) == ["/actorDid"]
        assert pointers(await caller.call("POST", RELEASE, GOOD | {"leaseId": value})) == ["/leaseId"]
    assert pointers(await caller.call("POST", RELEASE, GOOD | {"leaseId": "x" * 257})) == ["/leaseId"]


async def test_missing_members_are_all_named(caller, nothing_changes):
    for path in (LEASE, RELEASE):
        assert pointers(await caller.call("POST", path, b"{}")) == ["/resource", "/actorDid"]
        assert pointers(await caller.call("POST", path, {"resource": "lock:a"})) == ["/actorDid"]
        assert pointers(await caller.call("POST", path, {"actorDid": did("a")})) == ["/resource"]
        assert pointers(await caller.call("POST", path, {"RESOURCE": "lock:a", "actor_did": did("a")})) == [
            "/resource",
            "/actorDid",
        ]
    assert pointers(await caller.call("DELETE", WAIT)) == ["/resource", "/actorDid"]
    assert pointers(await caller.call("GET", AGENTS)) == ["/did"]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "/limit"),
        ("limit=501", "/limit"),
        ("limit=-1", "/limit"),
        ("limit=1.0", "/limit"),
        ("limit=1e2", "/limit"),
        ("limit=+5", "/limit"),
        ("limit=%205", "/limit"),
        ("limit=1_0", "/limit"),
        ("limit=%D9%A5", "/limit"),
        ("limit=", "/limit"),
        ("limit=ten", "/limit"),
        ("limit=" + "9" * 5000, "/limit"),
        ("limit=1&limit=1", "/limit"),
        ("resource=a&resource=a", "/resource"),
        ("resource=a&resource=b", "/resource"),
        ("resource=", "/resource"),
        ("resource=%00", "/resource"),
        ("cursor=%00", "/cursor"),
        ("cursor=", "/cursor"),
        ("cursor=" + "a" * 2049, "/cursor"),
        ("cursor=zzz", "/cursor"),
        ("unknown=1", "/unknown"),
        ("limit=500&x=%E2%82%AC", "/x"),
        ("=", "/"),
        ("a=b;c=d", "/a"),
        ("%", "/%"),
        ("resource=%FF", ""),
        ("resource=%ED%A0%80", ""),
        ("%FF=1", ""),
        ("x=" + "a" * 9000, ""),
    ],
)
async def test_bad_queries_are_refused(caller, query, pointer):
    assert pointers(await caller.call("GET", f"{WAIT}?{query}")) == [pointer]


@pytest.mark.parametrize("query", ["", "limit=500", "&&", "&limit=1&"])
async def test_good_queries_are_accepted(caller, query):
    assert (await caller.call("GET", f"{WAIT}?{query}")).status_code == 200
