"""MCP clients that look for OAuth read everywhere that there is none, and what is wrong with the key."""

import json
import re

import httpx
import pytest

from intramedial.asgi import application
from intramedial.workspaces import keys, provision

METADATA = [
    f"{before}/.well-known/{name}{after}"
    for name in ("oauth-protected-resource", "oauth-authorization-server", "openid-configuration")
    for before, after in (
        ("", ""),
        ("", "/"),
        ("", "/mcp"),
        ("", "/mcp/compat"),
        ("", "/mcp/"),
        ("/mcp", ""),
        ("/mcp/compat", ""),
    )
]
ENDPOINTS = ["/register", "/authorize", "/token", "/register/", "/authorize/", "/token/"]
REGISTRATION = {"client_name": "x", "redirect_uris": ["http://127.0.0.1:1/callback"]}


@pytest.fixture
async def http(running_authority):
    """A client of the whole service, over ASGI."""
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        yield client


def problem(answer):
    """The answer as a problem: 404, JSON, never stored."""
    assert answer.status_code == 404, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert (body["ok"], body["reason"], body["status"]) == (False, "not_found", 404)
    assert body["requestId"] == answer.headers["x-request-id"]
    assert "no OAuth here" in body["detail"]
    return body


@pytest.mark.parametrize("path", METADATA + ENDPOINTS)
async def test_every_place_and_method_says_that_the_key_is_the_cause(http, path):
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"):
        for accept in ("application/json", "text/html,*/*;q=0.8", "*/*"):
            answer = await http.request(method, f"{path}?a=b", headers={"accept": accept})
            assert "missing, unknown, revoked or expired" in problem(answer)["detail"]
    head = await http.head(path)
    assert (head.status_code, head.content) == (404, b"")


async def test_a_registration_is_refused_in_the_form_of_oauth(http):
    body = problem(await http.post("/register", json=REGISTRATION))
    assert body["error"] == "invalid_request"
    assert body["error_description"] == body["detail"]
    form = await http.post("/token", data={"grant_type": "client_credentials"})
    assert problem(form)["error"] == "invalid_request"


async def test_the_cause_is_the_one_that_the_api_gives(http, api_key, in_thread):
    revoked = await in_thread(provision.create_workspace, "revoked")
    revoked = (await in_thread(provision.create_api_key, revoked)).secret
    await in_thread(provision.revoke_api_key, revoked[: keys.PREFIX_LENGTH])
    for secret in (keys.make_key().secret, revoked, "imk_x", "é" * 20):
        headers = {"authorization": f"Bearer {secret}".encode()}
        api = (await http.get("/api/v1/acp/coordination/wait", headers=headers)).json()["detail"]
        assert api == "The API key is unknown, revoked or expired."
        for path in ("/register", METADATA[2]):
            detail = problem(await http.post(path, headers=headers))["detail"]
            assert detail.endswith(f" {api}")
            assert secret not in detail
    for header in ("Basic YTpi", "Bearer", ""):
        detail = problem(await http.get("/register", headers={"authorization": header}))["detail"]
        assert "Send an API key" in detail
    good = problem(await http.post("/register", headers={"authorization": f"Bearer {api_key}"}))
    assert good["detail"].endswith("is valid: send it with each request to http://127.0.0.1:8000/mcp/compat.")
    assert api_key not in json.dumps(good)


async def test_published_documents_are_still_there(http):
    assert (await http.get("/.well-known/jwks.json")).status_code == 200
    assert (await http.get("/.well-known/did.json")).status_code == 200
    other = await http.get("/.well-known/change-password")
    assert (other.status_code, other.json()["reason"]) == (404, "not_found")
    assert "OAuth" not in other.json()["detail"]


# --- the challenge of a 401 ---------------------------------------------------------------------------------

PLAIN = 'Bearer realm="intramedial"'
WRONG = f'{PLAIN}, error="invalid_token", error_description="The API key is unknown, revoked or expired."'
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
PLACES = (
    ("GET", "/api/v1/acp/coordination/wait", None),
    ("POST", "/api/v1/acp/coordination/lease", {}),
    ("POST", "/mcp", MESSAGE),
    ("POST", "/mcp/compat", MESSAGE),
)


@pytest.mark.parametrize(("method", "path", "body"), PLACES)
async def test_the_challenge_to_a_wrong_key_says_so(http, method, path, body):
    for secret in (keys.make_key().secret, "imk_x", "x" * 900):
        answer = await http.request(method, path, json=body, headers={"authorization": f"bearer {secret}"})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, WRONG)


@pytest.mark.parametrize(("method", "path", "body"), PLACES)
async def test_without_a_key_the_challenge_names_no_error(http, method, path, body):
    for headers in ({}, {"authorization": ""}, {"authorization": "Bearer"}, {"authorization": "Basic YTpi"}):
        answer = await http.request(method, path, json=body, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, PLAIN)


async def test_the_challenge_to_a_key_beside_a_signature_says_so(http, api_key):
    headers = {"authorization": f"Bearer {api_key}", "signature": "a=:AA==:", "signature-input": "a=()"}
    answer = await http.get(PLACES[0][1], headers=headers)
    assert answer.status_code == 401
    assert 'error="invalid_request"' in answer.headers["www-authenticate"]


async def test_a_challenge_only_uses_the_allowed_characters(http):
    """RFC 6750, 3: no quotation marks, no backslashes, only ASCII."""
    answer = await http.get(PLACES[0][1], headers={"authorization": "Bearer x"})
    (description,) = re.findall(r'error_description="([^"]*)"', answer.headers["www-authenticate"])
    assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+", description)
