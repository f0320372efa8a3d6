"""The page that verifies receipts in the browser, with the published keys, and sends nothing."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
LEASE = "/api/v1/acp/coordination/lease"


def answered(server: ServerProcess) -> dict[str, Any]:
    """An answer of the API, with its receipt."""
    answer = httpx.post(
        server.url + LEASE,
        headers={"Authorization": f"Bearer {server.secrets['apiKey']}"},
        json={"resource": "lock:verify", "actorDid": "did:web:agents.example:ana"},
    )
    body: dict[str, Any] = answer.json()
    assert body["receipt"]
    return body


@pytest.fixture
def body(served: ServerProcess) -> dict[str, Any]:
    """An answer from the server that all browser tests share."""
    return answered(served)


class Verify:
    """The page as a visitor with a receipt uses it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator('[data-part="verify"][data-ready]').wait_for()
        self.given = page.get_by_role("textbox", name="Recibo")
        self.fault = page.get_by_role("alert")
        self.note = page.locator('[data-part="note"]')
        self.receipt = page.locator('[data-part="receipt"]')
        self.verdict = self.receipt.locator("[data-verified]")

    def check(self, text: str) -> None:
        """Enter a text and press the button."""
        self.given.fill(text)
        self.page.get_by_role("button", name="Verificar").click()

    def failed(self) -> list[str]:
        """The checks that failed."""
        found = self.receipt.locator('[data-check][data-ok="false"]').all()
        return [check.get_attribute("data-check") or "" for check in found]


def forged(jws: str, **claims: Any) -> str:
    """A receipt with other claims under the same signature."""
    header, payload, signature = jws.split(".")
    changed = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4))) | claims
    other = urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()
    return f"{header}.{other}.{signature}"


@pytest.mark.parametrize("form", ["jws", "quoted", "wrapped", "receipt", "answer"])
def test_a_receipt_is_verified_however_it_is_given(visit: Visit, body: dict[str, Any], form: str) -> None:
    jws = body["receipt"]["jws"]
    given = {
        "jws": jws,
        "quoted": f'"{jws}",\n',
        "wrapped": "\n".join(jws[at : at + 76] for at in range(0, len(jws), 76)),
        "receipt": json.dumps(body["receipt"], indent=2),
        "answer": json.dumps(body),
    }[form]
    page = visit("/verificar/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url + (request.post_data or "")))
    verify = Verify(page)
    verify.check(given)
    expect(verify.verdict).to_contain_text("Verificado")
    checks = [check.get_attribute("data-check") for check in verify.receipt.locator("[data-check]").all()]
    assert checks == ["key", "signature", "issuer", *(["result"] if form == "answer" else [])]
    assert verify.failed() == []
    expect(verify.receipt).to_contain_text(body["receipt"]["id"])
    # The page requests only the published keys, so nothing of the receipt is sent.
    assert [url.rsplit("/", 1)[-1] for url in asked if "/static/" not in url] == ["jwks.json"]


def test_a_link_opens_a_receipt_and_sends_nothing_of_it(
    visit: Visit, served: ServerProcess, body: dict[str, Any]
) -> None:
    page = visit("/verificar/", permissions=["clipboard-read", "clipboard-write"])
    verify = Verify(page)
    verify.check(body["receipt"]["jws"])
    page.get_by_role("button", name="Copiar un enlace").click()
    expect(page.get_by_role("button", name="Copiado")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{served.url}/verificar/#{body['receipt']['jws']}"
    other = visit("/verificar/#" + body["receipt"]["jws"])
    expect(Verify(other).verdict).to_contain_text("Verificado")


def test_a_file_is_opened_or_dropped(visit: Visit, body: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "receipt.jws"
    file.write_text(body["receipt"]["jws"])
    verify = Verify(visit("/verificar/"))
    verify.page.locator('input[type="file"]').set_input_files(file)
    expect(verify.verdict).to_contain_text("Verificado")
    dropped = Verify(visit("/verificar/"))
    dropped.page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "receipt.jws"));
          const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
          document.querySelector("#given").dispatchEvent(drop);
        }""",
        body["receipt"]["jws"],
    )
    expect(dropped.verdict).to_contain_text("Verificado")


def test_one_changed_byte_turns_it_red(visit: Visit, body: dict[str, Any]) -> None:
    verify = Verify(visit("/verificar/"))
    verify.check(body["receipt"]["jws"])
    verify.page.get_by_role("button", name="Cambiar un byte").click()
    expect(verify.verdict).to_contain_text("No verificado")
    assert verify.failed() == ["signature"]


def test_an_answer_that_differs_from_the_signed_one_is_detected(visit: Visit, body: dict[str, Any]) -> None:
    body["lease"]["fencingToken"] += 1
    verify = Verify(visit("/verificar/"))
    verify.check(json.dumps(body))
    expect(verify.verdict).to_contain_text("No verificado")
    assert verify.failed() == ["result"]


@pytest.mark.parametrize(
    ("claims", "words", "unsaid"),
    [
        ({"auth": "scenario"}, "el servidor lo llevaba en una estampida", "la clave de API"),
        (
            {
                "auth": None,
                "event": "coordination.expire",
                "result": {"ok": True, "expired": {"fencingToken": 7}},
            },
            "testigo 7",
            "Identificado por",
        ),
    ],
)
def test_the_content_of_every_kind_of_receipt_is_shown(
    visit: Visit, body: dict[str, Any], claims: dict[str, Any], words: str, unsaid: str
) -> None:
    verify = Verify(visit("/verificar/"))
    verify.check(forged(body["receipt"]["jws"], **claims))
    expect(verify.verdict).to_contain_text("No verificado")
    expect(verify.receipt.locator(".facts")).to_contain_text(words)
    expect(verify.receipt.locator(".facts")).not_to_contain_text(unsaid)


def test_another_issuers_receipt_is_neither_good_nor_false(visit: Visit, body: dict[str, Any]) -> None:
    verify = Verify(visit("/verificar/"))
    verify.check(forged(body["receipt"]["jws"], iss="https://other.example"))
    expect(verify.note).to_contain_text("Dice que lo emite https://other.example, que no es este servicio.")
    expect(verify.note.get_by_role("link")).to_have_attribute("href", "https://other.example/verificar/")
    verify.check(forged(body["receipt"]["jws"], iss="javascript:alert(1)//"))
    expect(verify.note).to_contain_text("javascript:alert(1)//")
    expect(verify.note.get_by_role("link")).to_have_count(0)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (lambda jws: "", "Pega un recibo"),
        (lambda jws: jws[:-20], "de la firma llegan 66 caracteres de 86"),
        (lambda jws: jws.rsplit(".", 1)[0], "tiene tres partes separadas por puntos y aquí llegan 2"),
        (lambda jws: '{"receipt": {"jws": "' + jws[:50], "Empieza como un JSON pero no se puede leer"),
        (lambda jws: '{"ok": true, "receipt": null}', "no trae recibo"),
        (lambda jws: '{"ok": true}', "no tiene ningún recibo"),
        (lambda jws: "hola", "Esto no es un recibo"),
        (lambda jws: "a.b.c", "Esto no es un recibo"),
    ],
)
def test_an_incomplete_receipt_is_explained(
    visit: Visit, body: dict[str, Any], cut: Callable[[str], str], words: str
) -> None:
    verify = Verify(visit("/verificar/"))
    verify.check(cut(body["receipt"]["jws"]))
    expect(verify.fault).to_contain_text(words)
    expect(verify.receipt).to_be_hidden()
    expect(verify.given).to_be_focused()


def test_a_receipt_of_a_key_that_is_no_longer_published(
    visit: Visit, served: ServerProcess, body: dict[str, Any]
) -> None:
    before = published(served)
    served.manage("signingkey", "rotate")
    verify = Verify(visit("/verificar/"))
    verify.check(body["receipt"]["jws"])
    expect(verify.verdict).to_contain_text("Verificado")
    deadline = time.monotonic() + 10  # a server uses the key files in memory for a while
    while not before < published(served):
        assert time.monotonic() < deadline


def published(served: ServerProcess) -> set[str]:
    """The ids of the keys that are published."""
    return {key["kid"] for key in httpx.get(f"{served.url}/.well-known/jwks.json").json()["keys"]}


def test_a_browser_without_ed25519_verifies_with_the_library(visit: Visit, body: dict[str, Any]) -> None:
    page = visit("/verificar/")
    verify = Verify(page)
    page.evaluate(
        """() => {
          crypto.subtle.importKey = () => Promise.reject(new DOMException("", "NotSupportedError"));
        }"""
    )
    verify.check(body["receipt"]["jws"])
    expect(verify.verdict).to_contain_text("Verificado")
    verify.page.get_by_role("button", name="Cambiar un byte").click()
    expect(verify.verdict).to_contain_text("No verificado")


def test_a_page_that_cannot_verify_explains_it(visit: Visit, body: dict[str, Any]) -> None:
    verify = Verify(visit("/verificar/#%"))
    expect(verify.fault).to_contain_text("Esto no es un recibo")
    verify.page.evaluate("() => Object.defineProperty(crypto, 'subtle', { value: undefined })")
    verify.check(body["receipt"]["jws"])
    expect(verify.note).to_contain_text("no se sirve por HTTPS")
    expect(verify.receipt).to_be_hidden()


def test_a_server_out_of_reach_is_shown(visit: Visit, body: dict[str, Any]) -> None:
    verify = Verify(visit("/verificar/", expect=("net::ERR_FAILED",)))
    verify.page.route("**/.well-known/**", lambda route: route.abort())
    verify.check(body["receipt"]["jws"])
    expect(verify.note).to_contain_text("No se ha podido llegar al servidor")
    expect(verify.verdict).to_contain_text("No verificado")


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1600, "light")])
def test_axe_finds_nothing(visit: Visit, body: dict[str, Any], width: int, theme: str) -> None:
    page = visit("/verificar/", color_scheme=theme, viewport={"width": width, "height": 900})
    verify = Verify(page)
    assert violations(page) == []
    verify.check(forged(body["receipt"]["jws"], iss="https://other.example"))
    expect(verify.note).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_lanzar_links_to_this_page(visit: Visit) -> None:
    page = visit()
    page.locator("#lanzar[data-ready]").wait_for()
    page.keyboard.press("Control+Enter")
    page.get_by_role("link", name="Abrir en Verificar").click()
    expect(Verify(page).verdict).to_contain_text("Verificado")


def test_a_refusal_shows_which_resource_was_refused(visit: Visit, served: ServerProcess) -> None:
    refused = None
    for agent in ("ana", "bea"):
        refused = httpx.post(
            served.url + LEASE,
            headers={"Authorization": f"Bearer {served.secrets['apiKey']}"},
            json={"resource": "doc:refused#write", "actorDid": f"did:web:agents.example:{agent}"},
        )
    assert refused is not None and refused.json()["reason"] == "lease_held"
    verify = Verify(visit("/verificar/"))
    verify.check(refused.json()["receipt"]["jws"])
    row = verify.receipt.locator(".facts tr").filter(has_text="Recurso")
    expect(row.locator("code")).to_have_text("doc:refused")
