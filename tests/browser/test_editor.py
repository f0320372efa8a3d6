"""The editor is loaded when it is used, and shows faults where they are in the text."""

import json
import re
from base64 import b64decode
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from intramedial.identity.did import did_key_public
from intramedial.identity.signatures import verify_ed25519
from tests.browser.lanzar import Lanzar
from tests.browser.test_pages import violations

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]


class Editing(Lanzar):
    """Lanzar with the loaded editor."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.errors = page.locator("#editor-errors li")
        self.code = page.locator("json-editor .cm-content")

    def use(self) -> None:
        """Click into the text, and wait for the editor and the API's description."""
        with self.page.expect_response("**/openapi.json"):
            self.editor.click()
        expect(self.code).to_be_focused()

    def tab(self, name: str) -> None:
        """Choose another part of the request."""
        self.page.get_by_role("tab", name=name, exact=True).click()


def test_the_editor_is_loaded_when_it_is_used(visit: Visit) -> None:
    page = visit()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    lanzar = Editing(page)
    lanzar.launch()
    assert not [url for url in loaded if "/static/dist/" in url or url.endswith("/openapi.json")]
    lanzar.use()
    assert [url for url in loaded if "/static/dist/editor.js" in url]
    # The text is the same, in the same place.
    expect(lanzar.editor).to_have_count(1)
    assert json.loads(lanzar.text)["resource"] == "lock:deploy/production"
    assert lanzar.launch()["lease"]["renewed"] is True


def test_tab_leaves_the_editor_and_typing_can_be_undone(visit: Visit) -> None:
    lanzar = Editing(visit())
    before = lanzar.text
    lanzar.use()
    lanzar.page.keyboard.press("Control+Home")
    lanzar.page.keyboard.type("{")
    assert lanzar.text == "{" + before
    lanzar.page.keyboard.press("Control+z")
    assert lanzar.text == before
    lanzar.page.keyboard.press("Tab")
    expect(lanzar.code).not_to_be_focused()
    assert lanzar.text == before
    lanzar.page.keyboard.press("Shift+Tab")
    expect(lanzar.code).to_be_focused()


def test_a_value_against_the_apis_description_is_marked(visit: Visit) -> None:
    lanzar = Editing(visit())
    lanzar.use()
    lanzar.fill('{"resource": 7, "actorDid": "ana", "ttlMs": 5}')
    expect(lanzar.errors).to_have_text(
        [
            "tiene que ser un texto, entre comillas.",
            "no tiene la forma de un DID: did:método:…",
            "el campo ttlMs no se lee.",
        ]
    )
    expect(lanzar.page.locator("json-editor .cm-fault")).to_have_text(["7", '"ana"'])
    expect(lanzar.page.locator("json-editor .cm-hint")).to_have_text("5")
    expect(lanzar.code).to_have_attribute("aria-invalid", "true")
    assert violations(lanzar.page) == []
    lanzar.fill("{}")
    expect(lanzar.errors).to_have_text(["falta el campo resource.", "falta el campo actorDid."])
    lanzar.choose("wait")
    lanzar.fill('{"limit": 501, "resource": ""}')
    expect(lanzar.errors).to_have_text(["tiene que estar entre 1 y 500.", "está vacío."])
    lanzar.fill('{"resource": "lock:a",}')
    expect(lanzar.errors).to_have_text(["Línea 1, columna 23: sobra la coma anterior."])


def test_an_agent_that_does_not_sign_is_marked_before_sending(visit: Visit) -> None:
    lanzar = Editing(visit())
    lanzar.launch()
    lanzar.write(actorDid="did:web:another.example")
    expect(lanzar.errors).to_contain_text(["No es el DID que firma"])


def test_without_the_editor_a_plain_field_works(visit: Visit) -> None:
    lanzar = Editing(visit(expect=("net::ERR_FAILED", "Failed to fetch")))
    lanzar.page.route("**/static/dist/**", lambda route: route.abort())
    lanzar.editor.click()
    lanzar.fill('{"resource": "lock:a"')
    expect(lanzar.errors).to_contain_text(["se acaba antes de tiempo."])
    expect(lanzar.editor).to_have_js_property("tagName", "TEXTAREA")
    lanzar.page.get_by_role("button", name="Volver al ejemplo").click()
    assert lanzar.launch()["ok"] is True


def test_the_signed_text_is_shown_before_and_after(visit: Visit) -> None:
    lanzar = Editing(visit())
    lanzar.tab("Base de la firma")
    base = lanzar.page.locator("#signature-base")
    expect(base).to_contain_text(re.compile('"@method": POST\n"@target-uri": http.*/coordination/lease\n'))
    expect(base).to_contain_text('created=…;expires=…;nonce="…"')
    expect(lanzar.page.locator("#panel-base")).to_contain_text("Lo que se firmará.")
    before = base.inner_text()
    lanzar.tab("Cuerpo")
    lanzar.launch()
    lanzar.tab("Base de la firma")
    expect(lanzar.page.locator("#panel-base")).to_contain_text("Lo que se firmó y se envió.")
    signed = base.inner_text()
    assert before.splitlines()[:2] == signed.splitlines()[:2]
    lanzar.tab("Cabeceras")
    fields = dict(
        line.split(": ", 1) for line in lanzar.page.locator("#sent-headers").inner_text().splitlines()
    )
    did = json.loads(lanzar.text)["actorDid"]
    signature = fields["signature"].removeprefix("sig=:").removesuffix(":")
    assert verify_ed25519(did_key_public(did), signed.encode(), b64decode(signature))
    assert f'"content-digest": {fields["content-digest"]}' in signed
    lanzar.tab("Cuerpo")
    lanzar.write(resource="lock:other")
    lanzar.tab("Base de la firma")
    expect(lanzar.page.locator("#panel-base")).to_contain_text("Lo que se firmará.")


def test_a_body_over_the_limit_is_not_sent(visit: Visit) -> None:
    lanzar = Editing(visit())
    sent: list[str] = []
    lanzar.page.on("request", lambda request: sent.append(request.url))
    lanzar.write(resource="x" * 16_400)
    expect(lanzar.errors).to_have_text(["tiene más de 256 caracteres."])
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.errors.first).to_contain_text("ocupa 16.4")
    expect(lanzar.errors.first).to_contain_text("el máximo son 16.384")
    assert not [url for url in sent if "/acp/" in url]
