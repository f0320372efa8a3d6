"""The four situations over HTTP: one lock, a crashed holder, a deadlock, a stampede; no agent starves."""

import asyncio
import threading

import pytest
from django.conf import settings

from coordination.authority import process as authority
from tests.api.client import Caller, did

A, B, C = did("a"), did("b"), did("c")
LOCK = "lock:deploy/production"


async def granted(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["lease"]


async def refused(answer, reason="lease_held"):
    assert answer.status_code == 409, answer.text
    assert answer.json()["reason"] == reason
    return answer.json()


async def test_two_agents_take_turns_with_one_lock(caller):
    lease = await granted(await caller.lease(LOCK, A))
    assert lease | {"leaseId": "", "acquiredAt": "", "expiresAt": ""} == {
        "leaseId": "",
        "resource": LOCK,
        "holder": A,
        "mode": "exclusive",
        "fencingToken": 1,
        "acquiredAt": "",
        "expiresAt": "",
        "ttlMs": 30_000,
        "renewed": False,
    }
    answer = await caller.lease(LOCK, B)
    held = await refused(answer)
    assert (held["holder"], held["holders"], held["offered"]) == (A, [A], False)
    assert held["expiresAt"] == lease["expiresAt"]
    assert (held["queued"], held["position"], held["stampede"]) == (True, 1, {"admitted": 1, "waitMs": 25})
    assert answer.headers["retry-after"] == "1"

    released = await caller.release(LOCK, A, lease["leaseId"])
    assert released.status_code == 200
    assert released.json()["released"] == {"leaseId": lease["leaseId"], "resource": LOCK, "fencingToken": 1}
    assert released.json()["trust"] == {"score": 50.5, "delta": 0.5}
    # On offer to B: a newcomer is refused, and the answer says so.
    offered = await refused(await caller.lease(LOCK, C))
    assert (offered["holder"], offered["holders"], offered["offered"]) == (B, [], True)
    assert "expiresAt" not in offered
    assert (await granted(await caller.lease(LOCK, B)))["fencingToken"] == 2


async def test_asking_again_renews_and_ttl_ms_is_ignored(caller, authority_clock):
    first = await granted(await caller.lease(LOCK, A))
    await authority_clock.advance(10_000)
    body = {"resource": LOCK, "actorDid": A, "ttlMs": 1, "ttl": 86_400_000}
    again = await granted(await caller.call("POST", "/api/v1/acp/coordination/lease", body))
    assert again["renewed"] is True
    assert (again["leaseId"], again["fencingToken"]) == (first["leaseId"], first["fencingToken"])
    assert again["ttlMs"] == settings.LEASE_TTL_MS == 30_000
    await authority_clock.advance(29_999)
    await refused(await caller.lease(LOCK, B))


async def test_a_crashed_holder_loses_trust_once_and_the_next_gets_the_lock(caller, authority_clock):
    await granted(await caller.lease(LOCK, A))
    await refused(await caller.lease(LOCK, B))
    await authority_clock.advance(settings.LEASE_TTL_MS)
    assert await caller.trust(A) == {"score": 45.0, "releases": 0, "expiries": 1}
    picture = (await caller.wait(LOCK)).json()
    assert picture["holders"] == []
    assert [(wait["actorDid"], "offeredUntil" in wait) for wait in picture["queue"]] == [(B, True)]
    assert (await granted(await caller.lease(LOCK, B)))["fencingToken"] == 2
    # An expired lease is not held, and does not cost trust a second time.
    assert (await refused(await caller.release(LOCK, A), "not_held"))["holder"] == B
    await authority_clock.advance(60_000)
    assert await caller.trust(A) == {"score": 45.0, "releases": 0, "expiries": 1}


async def test_a_deadlock_is_refused_and_names_the_cycle(caller):
    await granted(await caller.lease("lock:a", A))
    await granted(await caller.lease("lock:b", B))
    await refused(await caller.lease("lock:b", A))
    answer = await caller.lease("lock:a", B)
    deadlock = await refused(answer, "deadlock")
    assert (deadlock["holder"], deadlock["waitingOn"]) == (A, "lock:b")
    assert deadlock["cycle"] == [{"agent": B, "waitsFor": "lock:a"}, {"agent": A, "waitsFor": "lock:b"}]
    assert "retry-after" not in answer.headers
    picture = (await caller.wait()).json()
    assert [(wait["actorDid"], wait["resource"]) for wait in picture["queue"]] == [(A, "lock:b")]
    (pair,) = picture["deadlocks"]
    assert (pair["agents"], pair["resources"]) == ([B, A], ["lock:a", "lock:b"])
    # The refused agent gives way: the other gets the resource that it waits for.
    assert (await caller.release("lock:b", B)).status_code == 200
    await granted(await caller.lease("lock:b", A))
    assert (await caller.wait()).json()["deadlocks"] == []


async def test_a_stampede_of_fifty_for_one_file(caller):
    """One lease. The n-th waiter is asked to wait min(800, 25 · 2^n) ms; eight are admitted."""
    agents = [did(f"agent-{number}") for number in range(50)]
    answers = await asyncio.gather(*(caller.lease("file:report", agent) for agent in agents))
    grants = [answer.json() for answer in answers if answer.status_code == 200]
    held = [answer.json() for answer in answers if answer.status_code == 409]
    assert (len(grants), len(held)) == (1, 49)
    assert {answer["holder"] for answer in held} == {grants[0]["lease"]["holder"]}
    in_line = sorted((answer for answer in held if answer["queued"]), key=lambda answer: answer["position"])
    assert [answer["position"] for answer in in_line] == list(range(1, 9))
    assert [answer["stampede"]["waitMs"] for answer in in_line] == [25, 50, 100, 200, 400, 800, 800, 800]
    assert [answer["stampede"]["admitted"] for answer in in_line] == list(range(1, 9))
    others = [answer for answer in held if not answer["queued"]]
    assert len(others) == 41
    assert {(answer["stampede"]["admitted"], answer["stampede"]["waitMs"]) for answer in others} == {(8, 800)}
    assert all("position" not in answer and "keptUntil" not in answer for answer in others)


async def test_a_request_with_wait_0_is_not_queued(caller):
    await granted(await caller.lease(LOCK, A))
    answer = await caller.lease(LOCK, B, prefer="wait=0")
    held = await refused(answer)
    assert (held["queued"], held["stampede"]) == (False, {"admitted": 0, "waitMs": 25})
    assert "preference-applied" not in answer.headers
    assert (await caller.wait(LOCK)).json()["queue"] == []
    # Any other preference is ignored, this one too until there is an issue for it.
    assert (await refused(await caller.lease(LOCK, B, prefer="wait=5")))["position"] == 1


@pytest.mark.parametrize(
    ("prefer", "queued"),
    [
        ("wait=0", False),
        ('WAIT="0"; a=b', False),
        ("respond-async, wait = 0", False),
        ("wait=0, wait=5", False),
        ("wait=5, wait=0", True),
        ("wait=00", True),
        ("wait", True),
        ("wait=", True),
        ("waits=0", True),
        (",;=", True),
    ],
)
async def test_the_preference_is_parsed_by_rfc_7240(caller, prefer, queued):
    await granted(await caller.lease(LOCK, A))
    assert (await refused(await caller.lease(LOCK, B, prefer=prefer)))["queued"] is queued


async def test_readers_share_what_a_writer_does_not(caller):
    assert (await granted(await caller.lease("doc:handbook#read", A)))["mode"] == "shared"
    lease = await granted(await caller.lease("doc:handbook#read", B))
    assert (lease["resource"], lease["mode"]) == ("doc:handbook", "shared")
    held = await refused(await caller.lease("doc:handbook", C))
    assert set(held["holders"]) == {A, B}
    picture = (await caller.wait("doc:handbook#read")).json()
    assert [holder["mode"] for holder in picture["holders"]] == ["shared", "shared"]
    assert [wait["mode"] for wait in picture["queue"]] == ["exclusive"]


async def test_a_waiter_withdraws(caller):
    await granted(await caller.lease(LOCK, A))
    await refused(await caller.lease(LOCK, B))
    assert (await caller.withdraw(LOCK, B)).json() == {"ok": True, "withdrawn": True}
    assert (await caller.withdraw(LOCK, B)).json() == {"ok": True, "withdrawn": False}
    assert (await caller.wait(LOCK)).json()["queue"] == []


async def test_a_stale_lease_id_is_refused_and_changes_nothing(caller, authority_clock):
    old = await granted(await caller.lease(LOCK, A))
    await authority_clock.advance(settings.LEASE_TTL_MS)
    await granted(await caller.lease(LOCK, A))
    before = (await caller.wait()).json()
    for lease_id in (old["leaseId"], "lse_never", "", "\x00", "x" * 256):
        refusal = await refused(await caller.release(LOCK, A, lease_id), "stale_lease")
        assert "holder" not in refusal
    assert (await refused(await caller.release(LOCK, B, old["leaseId"]), "stale_lease"))["holder"] == A
    assert "holder" not in await refused(await caller.release("lock:free", B), "not_held")
    assert (await caller.wait()).json() | {"serverTime": ""} == before | {"serverTime": ""}


async def test_the_picture_comes_in_pages_of_whole_queues(caller):
    for number in range(5):
        await granted(await caller.lease(f"lock:{number}", A))
        await refused(await caller.lease(f"lock:{number}", B))
    seen, cursor, pages = [], None, 0
    while True:
        page = (await caller.wait(**{"limit": "2"} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [holder["resource"] for holder in page["holders"]]
        assert [wait["resource"] for wait in page["queue"]] == [
            holder["resource"] for holder in page["holders"]
        ]
        pages += 1
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert (seen, pages) == ([f"lock:{number}" for number in range(5)], 3)


async def test_agents_are_known_once_they_have_acquired_or_waited(caller):
    assert (await caller.call("GET", "/api/v1/acp/agents", params={"did": A})).status_code == 404
    await granted(await caller.lease(LOCK, A))
    await refused(await caller.lease(LOCK, B))
    holder = (await caller.call("GET", "/api/v1/acp/agents", params={"did": A})).json()
    waiter = (await caller.call("GET", "/api/v1/acp/agents", params={"did": B})).json()
    assert [held["resource"] for held in holder["holds"]] == [LOCK]
    assert [wait["position"] for wait in waiter["waits"]] == [1]
    assert waiter["trust"] == {"score": 50.0, "releases": 0, "expiries": 0}


async def test_a_workspace_has_a_limit_of_resources_in_use(caller, settings):
    settings.WORKSPACE_RESOURCES = 3
    for number in range(3):
        await granted(await caller.lease(f"lock:{number}", A))
    answer = await caller.lease("lock:more", A)
    assert (answer.status_code, answer.json()["reason"]) == (429, "rate_limited")
    # A resource that is in use already can still be renewed and waited for.
    await granted(await caller.lease("lock:0", A))
    await refused(await caller.lease("lock:0", B))
    await caller.release("lock:0", A)


async def test_a_thousand_callers_of_one_resource_do_not_delay_others(caller, other_caller, monkeypatch):
    """All commands are pending when the thread is freed, the crowd's before the others: the others are
    among the first."""
    await granted(await caller.lease("lock:hot", A))
    await granted(await other_caller.lease("lock:warm", A))
    running = authority.get()
    asked, opened = [], threading.Event()
    ask = running.ask
    monkeypatch.setattr(running, "ask", lambda asking: asked.append(asking) or ask(asking))
    running.run(lambda store: opened.wait(60))

    finished: list[str] = []

    async def call(who: str, caller: Caller, resource: str, agent: str) -> None:
        await caller.lease(resource, agent)
        finished.append(who)

    crowd = [asyncio.ensure_future(call("crowd", caller, "lock:hot", did(f"agent-{n}"))) for n in range(1000)]
    while len(asked) < 1000:
        await asyncio.sleep(0.01)
    others = [asyncio.ensure_future(call("other", other_caller, f"lock:{n}", A)) for n in range(20)]
    while len(asked) < 1020:
        await asyncio.sleep(0.01)
    opened.set()
    await asyncio.gather(*crowd, *others)
    last = max(place for place, who in enumerate(finished) if who == "other")
    assert last < 2 * authority.BATCH
    assert (await caller.wait("lock:hot")).json()["queue"][-1]["position"] == 8


async def test_another_workspace_has_other_locks(caller, other_caller):
    await granted(await caller.lease(LOCK, A))
    assert (await granted(await other_caller.lease(LOCK, B)))["fencingToken"] == 1
    assert [holder["holder"] for holder in (await other_caller.wait()).json()["holders"]] == [B]
    assert (await other_caller.call("GET", "/api/v1/acp/agents", params={"did": A})).status_code == 404
    assert (await other_caller.release(LOCK, A)).json()["reason"] == "not_held"


async def test_the_same_key_from_two_callers_is_one_agent_of_one_workspace(caller):
    second = Caller(caller.key)
    lease = await granted(await caller.lease(LOCK, A))
    assert (await granted(await second.lease(LOCK, A)))["leaseId"] == lease["leaseId"]
    await second.close()
