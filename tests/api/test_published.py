"""Published documents: how long they may be kept, and 304 for a client with the current one."""

import httpx
import pytest

from intramedial.receipts import signing
from tests.api.client import DAY_S, LEASE, TRIAL
from tests.api.served import document

PATHS = ("/openapi.json", "/.well-known/jwks.json", "/.well-known/did.json")


@pytest.mark.parametrize("path", PATHS)
async def test_headers_and_descriptions_state_the_one_time(anonymous, path):
    answer = await anonymous.call("GET", path)
    assert answer.headers["cache-control"] == f"public, max-age={signing.CACHED_S}"
    assert f"kept for {signing.CACHED_S} seconds" in document()["paths"][path]["get"]["description"]


def test_a_new_key_is_published_until_every_cached_copy_has_expired():
    assert signing.PUBLISH_AHEAD_S > signing.CACHED_S + signing.REREAD_S
    words = document()["paths"]["/.well-known/jwks.json"]["get"]["description"]
    assert f"{signing.PUBLISH_AHEAD_S} seconds before it signs" in words


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_client_with_the_current_document_gets_no_body(anonymous, path, method):
    first = await anonymous.call("GET", path)
    tag = first.headers["etag"]
    assert tag.startswith('"') and tag.endswith('"')
    assert (await anonymous.call("HEAD", path)).headers["etag"] == tag
    for given in (tag, f"W/{tag}", f'"other", {tag}', f'"other" ,W/{tag} , "x"', "*", " * "):
        answer = await anonymous.call(method, path, if_none_match=given)
        assert (answer.status_code, answer.content) == (304, b""), given
        for name in ("etag", "cache-control", "access-control-allow-origin"):
            assert answer.headers[name] == first.headers[name]
        assert "content-type" not in answer.headers


@pytest.mark.parametrize("path", PATHS)
async def test_a_client_with_another_document_gets_the_current_one(anonymous, path):
    first = await anonymous.call("GET", path)
    tag = first.headers["etag"]
    for given in ("", '"other"', tag.strip('"'), f"{tag}x", "W/*", "," * 5000):
        answer = await anonymous.call("GET", path, if_none_match=given)
        assert (answer.status_code, answer.content) == (200, first.content), given


async def test_the_tag_changes_with_the_document(anonymous, settings, tmp_path):
    before = await anonymous.call("GET", "/.well-known/jwks.json")
    settings.DATA_DIR = tmp_path
    after = await anonymous.call("GET", "/.well-known/jwks.json", if_none_match=before.headers["etag"])
    assert after.status_code == 200
    assert after.headers["etag"] != before.headers["etag"]


async def test_a_trial_keeps_its_window_when_the_setting_changes(trial, settings):
    """Every answer with `RateLimit-Policy` states the window that the trial began with."""
    settings.TRIAL_DAYS = 3
    settings.TRIAL_CALLS = 2
    did = trial.agent.did
    answers = [
        await trial.call("POST", f"{TRIAL}/keys", {"did": did}),
        await trial.call("GET", TRIAL),
        await trial.lease("lock:a", did),
        await trial.call("POST", LEASE, b"{"),
    ]
    for answer in answers:
        assert answer.headers["ratelimit-policy"] == f'"trial";q=35;w={7 * DAY_S}', answer.request.url


def test_a_connection_goes_on_after_a_304(shared_server):
    with httpx.Client(base_url=shared_server.url, trust_env=False) as client:
        for path in PATHS:
            document = client.get(path)
            for method in ("GET", "HEAD"):
                answer = client.request(method, path, headers={"if-none-match": document.headers["etag"]})
                assert (answer.status_code, answer.content) == (304, b"")
                assert answer.headers["cache-control"] == document.headers["cache-control"]
            assert client.get(path).content == document.content
