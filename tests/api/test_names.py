"""Misspelt names of query parameters, members and paths: the answer suggests the right one."""

import base64
import http.client
import json

import pytest

from coordination.wire.ids import cursor_after, read_cursor
from intramedial.api import routes_by_path
from intramedial.http.routing import nearest
from tests.api.client import AGENTS, LEASE, RELEASE, WAIT, Caller, did, exchange, problem

A, B = did("a"), did("b")
GOOD = {"resource": "lock:a", "actorDid": A}
EVERY = [(path, method) for path, by_method in routes_by_path().items() for method in by_method]


def faults(answer):
    """Pointer and words of each fault of a 422."""
    errors = problem(answer, 422, "invalid_request")["errors"]
    return {fault["pointer"]: fault["detail"] for fault in errors}


@pytest.mark.parametrize(
    ("method", "path", "given", "meant"),
    [
        ("GET", WAIT, "resourse", "resource"),
        ("GET", WAIT, "ressource", "resource"),
        ("GET", WAIT, "Resource", "resource"),
        ("GET", WAIT, "RESOURCE", "resource"),
        ("GET", WAIT, "resources", "resource"),
        ("GET", WAIT, "resource_name", "resource"),
        ("GET", WAIT, "resource[]", "resource"),
        ("GET", WAIT, "lmit", "limit"),
        ("GET", WAIT, "Limit", "limit"),
        ("GET", WAIT, "nextCursor", "cursor"),
        ("HEAD", WAIT, "resourse", None),
        ("DELETE", WAIT, "actor_did", "actorDid"),
        ("DELETE", WAIT, "actorDID", "actorDid"),
        ("DELETE", WAIT, "actor", "actorDid"),
        ("DELETE", WAIT, "agent", "actorDid"),
        ("GET", AGENTS, "DID", "did"),
        ("GET", AGENTS, "actorDid", "did"),
    ],
)
async def test_a_misspelt_parameter_is_refused_with_the_right_name(caller, method, path, given, meant):
    await caller.lease("lock:a", A)
    answer = await caller.call(method, path, params={given: "lock:b"})
    if method == "HEAD":
        assert answer.status_code == 422
        return
    assert f"did you mean {meant}?" in faults(answer)[f"/{given}"]


@pytest.mark.parametrize("path", [WAIT, AGENTS])
async def test_an_unknown_parameter_is_refused_with_the_known_ones(caller, path):
    words = faults(await caller.call("GET", path, params={"zzzzzz": "1"}))["/zzzzzz"]
    assert words.endswith("this operation has " + ("did" if path == AGENTS else "resource, limit, cursor"))


async def test_a_misspelt_parameter_beside_right_ones_is_refused(caller):
    answer = await caller.call("GET", WAIT, params={"resource": "lock:a", "limits": "1"})
    assert list(faults(answer)) == ["/limits"]


@pytest.mark.parametrize(("path", "method"), EVERY)
async def test_no_operation_ignores_an_unknown_parameter(caller, trial, path, method):
    """The legal parameters of each operation are those of its schema: none has `verbose`."""
    asking = trial if path.startswith("/api/v1/trial") else caller
    body = GOOD if method == "POST" else None
    if path == "/api/v1/trial/keys":
        body = {"did": trial.agent.did}
    elif path == "/api/v1/trial/agents":
        body = {"did": B, "proof": "x"}
    answer = await asking.call(method, f"{path}?verbose=1", body)
    assert "/verbose" in faults(answer)


async def test_a_query_beside_a_body_changes_nothing(caller, nothing_changes):
    answer = await caller.call("POST", f"{LEASE}?resource=lock:b", GOOD)
    assert faults(answer)["/resource"].endswith("this operation has no query parameters")


async def test_many_unknown_parameters_are_cheap_and_not_all_named(caller):
    query = "&".join(f"x{number}" for number in range(1500))
    assert len(faults(await caller.call("GET", f"{WAIT}?{query}"))) == 5
    words = faults(await caller.call("GET", f"{WAIT}?{'y' * 8000}=1"))
    assert len(words["/" + "y" * 60]) < 200


@pytest.mark.parametrize("path", [LEASE, RELEASE])
@pytest.mark.parametrize(
    ("right", "given"),
    [
        ("actorDid", "actor_did"),
        ("actorDid", "actorDID"),
        ("actorDid", "ActorDid"),
        ("actorDid", "actor"),
        ("actorDid", "actorId"),
        ("actorDid", "agent"),
        ("actorDid", "agentDid"),
        ("actorDid", "did"),
        ("resource", "resourse"),
        ("resource", "Resource"),
        ("resource", "resource_name"),
        ("resource", "lock"),
    ],
)
async def test_a_missing_member_is_named_with_the_misspelt_one(caller, nothing_changes, path, right, given):
    body = {name: value for name, value in GOOD.items() if name != right} | {given: GOOD[right]}
    found = faults(await caller.call("POST", path, body))
    assert found == {f"/{right}": f"the name is {right}; you sent {given}"}


async def test_a_missing_member_without_a_near_name_is_only_missing(caller):
    body = {"resource": "lock:a", "ttlMs": 5, "x": 1}
    assert faults(await caller.call("POST", LEASE, body)) == {"/actorDid": "Field required"}


async def test_unknown_members_of_a_body_are_ignored(caller):
    body = GOOD | {"actor": B, "resourse": "lock:other", "ttlMs": 1}
    assert (await caller.call("POST", LEASE, body)).json()["lease"]["holder"] == A


@pytest.mark.parametrize("name", ["", "a", "é" * 9, "_" * 30, "x" * 5000, "\0", "рesource"])
def test_a_name_that_is_near_nothing_has_no_near_name(name):
    assert nearest(name, ("resource", "actorDid")) in (None, "resource" if name == "рesource" else None)


# --- paths


async def test_a_trailing_slash_makes_no_difference(caller, anonymous):
    lease = await caller.call("POST", f"{LEASE}/", GOOD)
    assert lease.json()["lease"]["resource"] == "lock:a"
    assert (await caller.call("GET", f"{WAIT}/?resource=lock:a")).json()["holders"]
    assert (await caller.call("HEAD", f"{WAIT}/")).status_code == 200
    assert (await caller.call("POST", f"{RELEASE}/", GOOD)).json()["ok"] is True
    assert (await anonymous.call("POST", f"{LEASE}/", GOOD)).status_code == 401
    assert (await anonymous.call("GET", "/health/live/")).status_code == 200
    assert (await anonymous.call("GET", "/openapi.json/")).status_code == 200
    allow = await anonymous.call("OPTIONS", f"{WAIT}/")
    assert (allow.status_code, allow.headers["allow"]) == (204, "DELETE, GET, HEAD, OPTIONS")
    wrong = await caller.call("GET", f"{LEASE}/")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "OPTIONS, POST")


async def test_a_signature_covers_the_path_as_it_was_sent(trial):
    body = {"resource": "lock:a", "actorDid": trial.agent.did}
    assert (await trial.call("POST", f"{LEASE}/", body)).status_code == 200
    signed = trial.http.build_request("POST", LEASE, json=body)
    signed.headers.update(
        trial.agent.sign("POST", str(signed.url), signed.content, headers=dict(signed.headers))
    )
    signed.url = signed.url.copy_with(raw_path=f"{LEASE}/".encode())
    problem(await trial.send(signed), 401, "bad_signature")


@pytest.mark.parametrize(
    "path",
    [LEASE.upper(), f"{LEASE}//", "/api/v1/acp//coordination/lease", "//api/v1/acp/coordination/Lease/"],
)
async def test_case_and_double_slashes_are_not_found_with_the_right_path(path):
    sent, _ = await exchange([], method="POST", path=path)
    assert sent[0]["status"] == 404
    assert f"Did you mean {LEASE}?" in sent[1]["body"].decode()


@pytest.mark.parametrize(("method", "path"), [("POST", LEASE), ("GET", WAIT), ("GET", WAIT + "/")])
def test_two_slashes_after_the_host_are_named(shared_server, method, path):
    """A base URL that ends in a slash, joined with a path."""
    connection = http.client.HTTPConnection("127.0.0.1", shared_server.port, timeout=20)
    connection.request(method, f"/{path}", b"{}" if method == "POST" else None)
    answer = connection.getresponse()
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert f"Did you mean {path.rstrip('/')}?" in json.load(answer)["detail"]
    connection.close()


# --- cursors


async def filled(caller):
    for number in range(3):
        await caller.lease(f"lock:{number}é", A)
    return (await caller.wait(limit="1")).json()["nextCursor"]


async def test_a_cursor_continues_where_the_page_ended(caller):
    cursor = await filled(caller)
    page = (await caller.wait(limit="1", cursor=cursor)).json()
    assert [held["resource"] for held in page["holders"]] == ["lock:1é"]
    assert "lock" not in cursor


async def test_a_forged_cursor_is_refused(caller, other_caller):
    cursor = await filled(caller)
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    respelt = cursor[:-1] + chr(ord(cursor[-1]) + 1)
    swapped = base64.urlsafe_b64encode(raw[:16] + "lock:2é".encode()).rstrip(b"=").decode()
    altered = [
        cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :] for at in range(len(cursor))
    ]
    made_up = [
        "lock:0é",
        "lock:1",
        "0",
        "zzz",
        "bG9jazow",
        "=",
        f"{cursor}=",
        f"{cursor}A",
        f" {cursor}",
        "é",
    ]
    for bad in [*altered, *made_up, respelt, swapped, cursor.swapcase(), cursor[:-1]]:
        words = faults(await caller.call("GET", WAIT, params={"cursor": bad}))
        assert words == {"/cursor": "is not a cursor that this service gave"}, bad
    assert "/cursor" in faults(await other_caller.call("GET", WAIT, params={"cursor": cursor}))


@pytest.mark.parametrize("name", ["a", "lock:é", "x" * 256, "\U0001f512" * 256])
def test_every_name_has_its_own_cursor(name):
    cursor = cursor_after("ws_1", name)
    assert read_cursor("ws_1", cursor) == name
    assert len(cursor) <= 2048
    with pytest.raises(ValueError, match="not a cursor"):
        read_cursor("ws_2", cursor)


async def test_a_caller_without_credentials_learns_no_names(anonymous: Caller):
    problem(await anonymous.call("GET", WAIT, params={"resourse": "x"}), 401, "unauthenticated")
