"""Bad input: each gets its documented reason and status as problem JSON, and changes nothing."""

import json

import pytest

from tests.api.client import AGENTS, LEASE, RELEASE, WAIT, did

GOOD = {"resource": "lock:a", "actorDid": did("a")}
LONGEST_BODY = 16_384
LONGEST_QUERY = 8_192


def raw(resource='"lock:a"', more=""):
    return f'{{"resource": {resource}, "actorDid": "{did("a")}"{more}}}'.encode()


MALFORMED = {
    "empty": b"",
    "white space": b" \n",
    "not JSON": b"resource=lock:a",
    "cut short": b'{"resource": "lock:a", "actorDid": ',
    "single quotes": b"{'resource': 'lock:a'}",
    "trailing comma": b'{"resource": "lock:a",}',
    "a comment": b'{"resource": "lock:a"} // why not',
    "two documents": raw() + b" {}",
    "a NUL after it": raw() + b"\0",
    "an array": b"[" + raw() + b"]",
    "a string": b'"lock:a"',
    "a number": b"1",
    "true": b"true",
    "null": b"null",
    "NaN": raw(more=', "x": NaN'),
    "Infinity": raw(more=', "x": Infinity'),
    "-Infinity": raw(more=', "x": -Infinity'),
    "a number that overflows": raw(more=', "x": 1e999'),
    "a number of a thousand digits": raw(more=', "x": 1' + "0" * 999),
    "a leading zero": raw(more=', "x": 01'),
    "hexadecimal": raw(more=', "x": 0x1F'),
    "a name twice": raw(more=', "resource": "lock:b"'),
    "the same name twice with an escape": raw(more=r', "\u0072esource": "lock:b"'),
    "a name twice further in": raw(more=', "x": [{"y": {"z": 1, "z": 1}}]'),
    "an unknown name twice": raw(more=', "x": 1, "x": 1'),
    "nested too deep": raw(more=', "x": ' + "[" * 16 + "]" * 16),
    "nested far too deep": raw(more=', "x": ' + "[" * 8000 + "]" * 8000),
    "objects nested too deep": raw(more=', "x": ' + '{"y":' * 16 + "1" + "}" * 16),
    "nested without an end": b"[" * 16_000,
    "a lone high surrogate": raw(resource=r'"lock:\ud800"'),
    "a lone low surrogate": raw(resource=r'"lock:\udc00"'),
    "surrogates the wrong way round": raw(resource=r'"lock:\udc00\ud800"'),
    "a lone surrogate in a field nobody reads": raw(more=r', "x": "\ud800"'),
    "a lone surrogate as a name": raw(more=r', "\ud800": 1'),
    "a surrogate in UTF-8": b'{"resource": "lock:\xed\xa0\x80"}',
    "not UTF-8": b'{"resource": "lock:\xff"}',
    "overlong UTF-8": b'{"resource": "lock:\xc0\xaf"}',
    "Latin-1": '{"resource": "lock:ñ"}'.encode("latin-1"),
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + raw(),
    "a raw control character": b'{"resource": "lock:\x01"}',
    "a raw newline": b'{"resource": "lock:\n"}',
    "a bad escape": rb'{"resource": "lock:\x41"}',
    "an unquoted name": b'{resource: "lock:a"}',
}

BAD_RESOURCES = {
    "empty": "",
    "too long": "x" * 257,
    "too long and not ASCII": "ñ" * 257,
    "leading white space": " lock:a",
    "trailing white space": "lock:a ",
    "a leading no-break space": "\u00a0lock:a",
    "nothing but white space": "   ",
    "NUL": "lock:\0a",
    "a newline": "lock:\na",
    "DEL": "lock:\x7f",
    "a C1 control": "lock:\x85a",
    "a bidi override": "lock:\u202egnp.exe",
    "a bidi isolate": "lock:\u2066a",
    "a zero-width space": "lock:\u200ba",
    "a zero-width joiner": "lock:\u200da",
    "a byte order mark": "lock:\ufeffa",
    "a word joiner": "lock:\u2060a",
    "a soft hyphen": "lock:\u00ada",
    "a tag character": "lock:\U000e0041",
    "a line separator": "lock:\u2028a",
    "a suffix there is not": "doc:a#update",
    "an empty suffix": "doc:a#",
    "a suffix in capitals": "doc:a#READ",
    "two suffixes": "doc:a#read#read",
    "nothing before the suffix": "#read",
    "white space before the suffix": "doc:a #read",
}

BAD_DIDS = {
    "empty": "",
    "not a DID": "alice",
    "no method": "did:",
    "no identifier": "did:web:",
    "capitals in the method": "did:Web:a",
    "the scheme in capitals": "DID:web:a",
    "a colon at the end": "did:web:a:",
    "white space": "did:web:a b",
    "a newline at the end": "did:web:a\n",
    "a leading space": " did:web:a",
    "a path": "did:web:a/b",
    "a query": "did:web:a?b",
    "a fragment": "did:web:a#key-1",
    "a bad percent": "did:web:a%zz",
    "not ASCII": "did:web:ñ",
    "NUL": "did:web:a\0",
    "too long": "did:web:" + "a" * 249,
    "far too long": "did:key:z" + "1" * 10_000,
    "a did:key of nothing": "did:key:z",
    "a did:key without its multibase": "did:key:6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    "a did:key in another alphabet": "did:key:z0OIl",
    "a did:key of an unknown type": "did:key:z" + "2" * 40,
    "a did:key cut short": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2d",
    "a did:key with one more": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doKK",
    "the identity point": "did:key:z6MkeXCES4onVW4up9Qgz1KRnZsKmGufcaZxF7Zpv2w5QwUK",
}

WRONG_TYPES = {
    "null": None,
    "a number": 7,
    "a number past 64 bits": 2**63,
    "a fraction": 1.5,
    "true": True,
    "an array": ["lock:a"],
    "an object": {"name": "lock:a"},
}


@pytest.fixture
async def nothing_changes(caller):
    """The picture of the workspace, and the holder's trust, are the same before and after."""
    lease = await caller.lease("lock:kept", did("keeper"))
    await caller.lease("lock:kept", did("waiter"))
    before = (await caller.wait()).json() | {"serverTime": ""}
    yield
    assert (await caller.wait()).json() | {"serverTime": ""} == before
    assert await caller.trust(did("keeper")) == {"score": 50.0, "releases": 0, "expiries": 0}
    assert (await caller.lease("lock:kept", did("keeper"))).json()["lease"]["leaseId"] == lease.json()[
        "lease"
    ]["leaseId"]


def problem(answer, status, reason):
    assert (answer.status_code, answer.json()["reason"]) == (status, reason), answer.text
    return answer.json()


def pointers(answer):
    return [fault["pointer"] for fault in problem(answer, 422, "invalid_request")["errors"]]


@pytest.mark.parametrize("path", [LEASE, RELEASE])
async def test_json_that_is_not_as_it_must_be(caller, nothing_changes, path):
    for body in MALFORMED.values():
        problem(await caller.call("POST", path, body), 400, "malformed_json")


async def test_json_at_the_limits_of_what_is_read(caller):
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


async def test_resources_that_are_refused(caller, nothing_changes):
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


async def test_dids_that_are_refused(caller, nothing_changes):
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


async def test_wrong_types(caller, nothing_changes):
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
        ("cursor=" + "a" * 257, "/cursor"),
        ("resource=%FF", ""),
        ("resource=%ED%A0%80", ""),
        ("%FF=1", ""),
        ("x=" + "a" * 9000, ""),
    ],
)
async def test_queries_that_are_refused(caller, query, pointer):
    assert pointers(await caller.call("GET", f"{WAIT}?{query}")) == [pointer]


@pytest.mark.parametrize(
    "query", ["", "unknown=1", "limit=500&x=%E2%82%AC", "&&", "=", "a=b;c=d", "%", "cursor=zzz"]
)
async def test_queries_that_are_not(caller, query):
    assert (await caller.call("GET", f"{WAIT}?{query}")).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/problem+json",
        "application/json, application/json",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/json;charset=",
        "json",
        "*/*",
        "",
    ],
)
async def test_media_types_that_are_refused(caller, stranger, nothing_changes, content_type):
    for asking in (caller, stranger):  # before anybody asks who it is
        answer = await asking.call("POST", LEASE, GOOD, content_type=content_type)
        problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json; profile=x",
    ],
)
async def test_media_types_that_are_json(caller, content_type):
    assert (await caller.call("POST", LEASE, GOOD, content_type=content_type)).status_code == 200


async def test_a_coded_body_is_refused(caller, nothing_changes):
    answer = await caller.call("POST", LEASE, GOOD, content_encoding="gzip")
    problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_body_that_is_too_large(caller, stranger, nothing_changes, method):
    path = LEASE if method == "POST" else WAIT
    body = b'{"resource": "' + b"x" * LONGEST_BODY + b'"}'
    for asking in (caller, stranger):
        answer = await asking.call(method, path, body)
        problem(answer, 413, "too_large")
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["16385", "9" * 4000])
async def test_a_body_that_only_says_it_is_too_large(stranger, length):
    request = stranger._http.build_request(
        "POST", LEASE, content=b"{}", headers={"content-type": "application/json"}
    )
    request.headers["content-length"] = length
    problem(await stranger.send(request), 413, "too_large")


async def test_unknown_paths(caller, stranger, nothing_changes):
    for path in (
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/acp/coordination/lease",
        f"{LEASE}/",
        f"{LEASE}/x",
        LEASE.upper(),
        "/api/v1/acp/coordination//lease",
        "/api/%00",
        "/api/%ff",
        "/api/..%2f",
        "/health/",
        "/.well-known/none",
        "/openapi.json/",
        "/api/" + "x" * 5000,
    ):
        for asking in (caller, stranger):
            for method in ("GET", "POST", "OPTIONS", "BREW"):
                answer = await asking.call(method, path)
                assert answer.status_code == 404
                if method != "OPTIONS":
                    problem(answer, 404, "not_found")


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        (LEASE, "OPTIONS, POST"),
        (RELEASE, "OPTIONS, POST"),
        (WAIT, "DELETE, GET, HEAD, OPTIONS"),
        (AGENTS, "GET, HEAD, OPTIONS"),
        ("/api/v1/trial", "GET, HEAD, OPTIONS"),
        ("/api/v1/trial/keys", "OPTIONS, POST"),
        ("/health/live", "GET, HEAD, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
        ("/.well-known/jwks.json", "GET, HEAD, OPTIONS"),
    ],
)
async def test_methods_that_a_path_does_not_have(caller, stranger, nothing_changes, path, allow):
    has = {method.strip() for method in allow.split(",")}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "BREW"} - has:
        for asking in (caller, stranger):
            answer = await asking.call(method, path)
            assert problem(answer, 405, "not_found")["title"] == "Method not allowed"
            assert answer.headers["allow"] == allow
    answer = await stranger.call("OPTIONS", path)
    assert (answer.status_code, answer.headers["allow"]) == (204, allow)
    assert "access-control-allow-origin" not in answer.headers


async def test_head_is_get_without_its_body(caller, stranger):
    get, head = await caller.call("GET", WAIT), await caller.call("HEAD", WAIT)
    assert head.status_code == 200
    assert head.headers["content-length"] == get.headers["content-length"]
    assert (await stranger.call("HEAD", WAIT)).status_code == 401
    assert (await stranger.call("HEAD", "/health/live")).status_code == 200


async def test_nothing_of_another_origin_is_let_in(caller):
    answer = await caller.call("GET", WAIT, origin="https://evil.example")
    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_request_id_is_ours_alone(caller):
    answer = await caller.call("GET", WAIT, x_request_id="req_mine")
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["x-request-id"] != "req_mine"


async def test_the_first_fault_in_order_is_the_one_that_is_told(caller, stranger):
    """413, 415, then who is asking, then 400, 422, 403."""
    large = b"x" * (LONGEST_BODY + 1)
    problem(await stranger.call("POST", LEASE, large, content_type="text/plain"), 413, "too_large")
    problem(
        await stranger.call("POST", LEASE, b"{", content_type="text/plain"), 415, "unsupported_media_type"
    )
    problem(await stranger.call("POST", LEASE, b"{"), 401, "unauthenticated")
    problem(await caller.call("POST", LEASE, b"{"), 400, "malformed_json")
