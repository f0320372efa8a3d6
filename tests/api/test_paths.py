"""Paths, methods, media types and sizes: refused before the body is parsed."""

import pytest

from tests.api.bad import GOOD
from tests.api.client import AGENTS, LEASE, RELEASE, WAIT, problem

LONGEST_BODY = 16_384


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
async def test_other_media_types_are_refused(caller, anonymous, nothing_changes, content_type):
    for asking in (caller, anonymous):  # also without credentials: the media type is checked first
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
async def test_json_media_types_are_accepted(caller, content_type):
    assert (await caller.call("POST", LEASE, GOOD, content_type=content_type)).status_code == 200


async def test_an_encoded_body_is_refused(caller, nothing_changes):
    answer = await caller.call("POST", LEASE, GOOD, content_encoding="gzip")
    problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_body_that_is_too_large_is_refused(caller, anonymous, nothing_changes, method):
    path = LEASE if method == "POST" else WAIT
    body = b'{"resource": "' + b"x" * LONGEST_BODY + b'"}'
    for asking in (caller, anonymous):
        answer = await asking.call(method, path, body)
        problem(answer, 413, "too_large")
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["16385", "9" * 4000])
async def test_a_content_length_that_is_too_large_is_refused(anonymous, length):
    request = anonymous.http.build_request(
        "POST", LEASE, content=b"{}", headers={"content-type": "application/json"}
    )
    request.headers["content-length"] = length
    problem(await anonymous.send(request), 413, "too_large")


async def test_unknown_paths_are_not_found(caller, anonymous, nothing_changes):
    for path in (
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/acp/coordination/lease",
        f"{LEASE}//",
        f"{LEASE}/x",
        LEASE.upper(),
        "/api/v1/acp/coordination//lease",
        "/api/%00",
        "/api/%ff",
        "/api/..%2f",
        "/health/",
        "/.well-known/none",
        "/openapi.json//",
        "/api/" + "x" * 5000,
    ):
        for asking in (caller, anonymous):
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
async def test_unknown_methods_get_405_with_allow(caller, anonymous, nothing_changes, path, allow):
    has = {method.strip() for method in allow.split(",")}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "BREW"} - has:
        for asking in (caller, anonymous):
            answer = await asking.call(method, path)
            assert problem(answer, 405, "not_found")["title"] == "Method not allowed"
            assert answer.headers["allow"] == allow
    answer = await anonymous.call("OPTIONS", path)
    assert (answer.status_code, answer.headers["allow"]) == (204, allow)
    assert "access-control-allow-origin" not in answer.headers


async def test_head_is_get_without_its_body(caller, anonymous):
    get, head = await caller.call("GET", WAIT), await caller.call("HEAD", WAIT)
    assert head.status_code == 200
    assert head.headers["content-length"] == get.headers["content-length"]
    assert (await anonymous.call("HEAD", WAIT)).status_code == 401
    assert (await anonymous.call("HEAD", "/health/live")).status_code == 200


async def test_pages_of_another_origin_are_refused(caller):
    answer = await caller.call("GET", WAIT, origin="https://evil.example")
    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_request_id_of_the_client_is_ignored(caller):
    answer = await caller.call("GET", WAIT, x_request_id="req_mine")
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["x-request-id"] != "req_mine"


async def test_the_first_fault_in_order_is_answered(caller, anonymous):
    """413, 415, then authentication, then 400, 422, 403."""
    large = b"x" * (LONGEST_BODY + 1)
    problem(await anonymous.call("POST", LEASE, large, content_type="text/plain"), 413, "too_large")
    problem(
        await anonymous.call("POST", LEASE, b"{", content_type="text/plain"), 415, "unsupported_media_type"
    )
    problem(await anonymous.call("POST", LEASE, b"{"), 401, "unauthenticated")
    problem(await caller.call("POST", LEASE, b"{"), 400, "malformed_json")
