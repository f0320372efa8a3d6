"""An agent in a page of another origin signs with WebCrypto, and Chromium lets it read the answers."""

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.server import ROOT, ServerProcess
from tests.signing import Agent

COORDINATION = "/api/v1/acp/coordination"
PKCS8 = "302e020100300506032b657004220420"

# The agent in the page. It signs with the site's modules, which the other origin serves as a copy.
AGENT = """
async ({ service, did, pkcs8 }) => {
  const { sign } = await import("/js/lib/signing.js");
  const bytes = Uint8Array.from(pkcs8.match(/../g), (byte) => parseInt(byte, 16));
  const privateKey = await crypto.subtle.importKey("pkcs8", bytes, "Ed25519", false, ["sign"]);
  window.signed = async (method, path, value, more = {}) => {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const { headers } = await sign({ method, url: service + path, body }, { did, privateKey }, Date.now());
    const credentials = more.credentials ?? "omit";
    return { method, body, headers: { ...headers, ...more.headers }, credentials };
  };
  window.read = async (path, request) => {
    try {
      const answer = await fetch(service + path, request);
      const names = ["x-request-id", "ratelimit", "ratelimit-policy", "www-authenticate", "date"];
      const headers = Object.fromEntries(names.map((name) => [name, answer.headers.get(name)]));
      return { status: answer.status, headers, body: await answer.json() };
    } catch (error) {
      return { thrown: error.name };
    }
  };
  window.ask = async (method, path, value, more) => read(path, await signed(method, path, value, more));
}
"""
THROWN = {"thrown": "TypeError"}


class Elsewhere(SimpleHTTPRequestHandler):
    """Another origin, with an empty page and a copy of the site's scripts."""

    def do_GET(self) -> None:
        """Send the page or a script."""
        if self.path != "/":
            super().do_GET()
            return
        page = b"<!doctype html><title>elsewhere</title>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """Another origin than the service's: another host name and another port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Elsewhere, directory=str(ROOT / "static")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page_of(browser: Browser, served: ServerProcess, elsewhere: str) -> Iterator[Callable[[Agent], Page]]:
    """`page_of(agent)` opens a page of the other origin with that agent in it."""
    contexts = []

    def opened(agent: Agent) -> Page:
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.goto(elsewhere)
        given = {"service": served.url, "did": agent.did, "pkcs8": PKCS8 + agent.seed.hex()}
        page.evaluate(AGENT, given)
        return page

    yield opened
    for context in contexts:
        context.close()


def begun(served: ServerProcess) -> Agent:
    """An agent with a trial. A program began the trial, because pages of other origins may not."""
    agent = Agent()
    body = json.dumps({"did": agent.did}).encode()
    url = f"{served.url}/api/v1/trial/keys"
    request = urllib.request.Request(url, data=body, headers=agent.sign("POST", url, body))
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 201
    return agent


def ask(page: Page, *arguments: Any) -> Any:
    """What the page can read of the answer to a signed request."""
    return page.evaluate("(given) => ask(...given)", [*arguments])


def test_it_acquires_reads_waits_and_releases(
    page_of: Callable[[Agent], Page], served: ServerProcess
) -> None:
    agent = begun(served)
    page = page_of(agent)
    asked = {"resource": "lock:elsewhere", "actorDid": agent.did}
    extra = {"headers": {"prefer": "wait=0", "idempotency-key": "k1"}}
    granted = ask(page, "POST", f"{COORDINATION}/lease", asked, extra)
    assert (granted["status"], granted["body"]["lease"]["holder"]) == (200, agent.did)
    assert granted["headers"]["x-request-id"].startswith("req_")
    assert granted["headers"]["ratelimit"].startswith('"trial";r=34')
    assert granted["headers"]["ratelimit-policy"].startswith('"trial";q=35')
    assert granted["headers"]["date"]
    picture = ask(page, "GET", f"{COORDINATION}/wait?resource=lock%3Aelsewhere")
    assert [held["holder"] for held in picture["body"]["holders"]] == [agent.did]
    place = f"{COORDINATION}/wait?resource=lock%3Aelsewhere&actorDid={agent.did.replace(':', '%3A')}"
    assert ask(page, "DELETE", place)["body"] == {"ok": True, "withdrawn": False}
    assert ask(page, "POST", f"{COORDINATION}/release", asked)["status"] == 200
    again = ask(page, "POST", f"{COORDINATION}/release", asked)
    assert (again["status"], again["body"]["reason"]) == (409, "not_held")
    assert ask(page, "GET", "/api/v1/trial")["body"]["callsUsed"] == 5


def test_it_reads_every_refusal(page_of: Callable[[Agent], Page], served: ServerProcess) -> None:
    agent = begun(served)
    page = page_of(agent)
    good = {"resource": "lock:a", "actorDid": agent.did}
    lease = f"{COORDINATION}/lease"
    invalid = ask(page, "POST", lease, {"resource": "", "actorDid": agent.did})
    assert (invalid["status"], invalid["body"]["reason"]) == (422, "invalid_request")
    other = ask(page, "POST", lease, {"resource": "lock:a", "actorDid": "did:web:other.example"})
    assert (other["status"], other["body"]["reason"]) == (403, "actor_mismatch")
    unsound = page.evaluate(
        """async ([path, value]) => {
          const request = await signed("POST", path, value);
          const tampered = await read(path, { ...request, body: request.body + " " });
          return [tampered, await read(path, request), await read(path, request)];
        }""",
        [lease, good],
    )
    assert [(answer["status"], answer["body"].get("reason")) for answer in unsound] == [
        (401, "bad_signature"),
        (200, None),
        (401, "replayed"),
    ]
    assert unsound[0]["headers"]["www-authenticate"].startswith("Bearer")
    elsewhere = ask(page, "POST", lease, good, {"headers": {"intramedial-workspace": "ws_other"}})
    assert (elsewhere["status"], elsewhere["body"]["ok"]) == (401, False)
    while (spent := ask(page, "POST", lease, good))["status"] == 200:
        pass
    assert (spent["status"], spent["body"]["reason"]) == (429, "trial_exhausted")
    assert spent["headers"]["ratelimit"].startswith('"trial";r=0')


def test_it_reads_answers_to_signed_requests_only(
    page_of: Callable[[Agent], Page], served: ServerProcess
) -> None:
    agent = begun(served)
    page = page_of(agent)
    wait = f"{COORDINATION}/wait"
    key = {"authorization": f"Bearer {served.secrets['apiKey']}"}
    read = "([path, request]) => read(path, request)"
    assert page.evaluate(read, [wait, {"headers": key}]) == THROWN
    assert page.evaluate(read, [wait, {}]) == THROWN
    assert page.evaluate(read, [wait, {"credentials": "include"}]) == THROWN
    assert (
        page.evaluate(
            "(given) => ask(given[0], given[1], undefined, given[2])", ["GET", wait, {"headers": key}]
        )
        == THROWN
    )
    # Paths that accept a session cannot be read, even when the request is signed.
    assert (
        page.evaluate(
            "(given) => ask(given[0], given[1], undefined, given[2])",
            ["GET", wait, {"credentials": "include"}],
        )
        == THROWN
    )
    body = {"method": "POST", "headers": {**key, "content-type": "application/json"}, "body": "{}"}
    assert page.evaluate(read, ["/mcp/compat", body]) == THROWN
    # Only the service's own pages can begin a trial.
    stranger = Agent()
    other = page_of(stranger)
    assert ask(other, "POST", "/api/v1/trial/keys", {"did": stranger.did}) == THROWN
    unknown = ask(other, "GET", "/api/v1/trial")
    assert (unknown["status"], unknown["body"]["reason"]) == (401, "unauthenticated")
