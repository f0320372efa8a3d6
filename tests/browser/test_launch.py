"""From the first keystroke to a verified receipt, on the real server."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lanzar import Lanzar
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

RESOURCE = "lock:deploy/production"
CHECKS = ["key", "signature", "issuer", "request", "result"]


def test_one_keystroke_on_the_first_visit_is_granted_and_verified(
    visit: Visit, served: ServerProcess
) -> None:
    lanzar = Lanzar(visit())
    expect(lanzar.key).to_contain_text("Sin clave")
    body = lanzar.launch()

    assert body["ok"] is True
    assert body["lease"]["resource"] == RESOURCE
    expect(lanzar.answer).to_contain_text('"ok": true')
    expect(lanzar.answer).to_contain_text("Concedido")
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
    checks = lanzar.receipt.locator("[data-check]")
    assert [check.get_attribute("data-check") for check in checks.all()] == CHECKS
    assert [check.get_attribute("data-ok") for check in checks.all()] == ["true"] * len(CHECKS)
    expect(lanzar.key).to_contain_text("34 de 35")
    expect(lanzar.key).to_contain_text(re.compile(r"caduca en [67] d"))
    expect(lanzar.page.get_by_role("status").filter(has_text="Recibo verificado.")).to_have_count(1)


def test_one_changed_byte_fails_and_can_be_undone(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    verdict = lanzar.receipt.get_by_role("status")
    signature = lanzar.receipt.locator('[data-check="signature"]')

    lanzar.receipt.get_by_role("button", name="Cambiar un byte").click()
    expect(verdict).to_contain_text("No verificado")
    expect(signature).to_have_attribute("data-ok", "false")
    expect(signature).to_contain_text("no se cumple")
    expect(lanzar.receipt.locator(".was-changed")).to_have_count(1)

    lanzar.receipt.get_by_role("button", name="Devolver el byte a su sitio").click()
    expect(verdict).to_contain_text(re.compile("^Verificado"))
    expect(signature).to_have_attribute("data-ok", "true")


def test_a_release_is_a_second_signed_call(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    granted = lanzar.launch()
    lanzar.choose("release")
    released = lanzar.launch()

    assert released["released"]["leaseId"] == granted["lease"]["leaseId"]
    expect(lanzar.answer).to_contain_text("Devuelto")
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
    expect(lanzar.key).to_contain_text("33 de 35")


def test_reading_waits_and_withdrawing_have_no_receipt(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    lanzar.choose("wait")
    assert [holder["resource"] for holder in lanzar.launch()["holders"]] == [RESOURCE]
    expect(lanzar.receipt).to_be_hidden()
    lanzar.choose("withdraw")
    assert lanzar.launch() == {"ok": True, "withdrawn": False}
    expect(lanzar.answer).to_contain_text("No estaba en la cola")


def test_a_second_agent_is_refused_with_its_place(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    lanzar.add_agent()
    refused = lanzar.launch()

    assert (refused["reason"], refused["position"], refused["stampede"]["waitMs"]) == ("lease_held", 1, 25)
    expect(lanzar.answer).to_contain_text("Lo tiene el agente A. Estás en el puesto 1 de la cola")
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")


def test_the_key_stays_and_cannot_be_exported(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    holder = lanzar.launch()["lease"]["holder"]
    exported = lanzar.page.evaluate(
        """async () => {
          const opening = indexedDB.open("intramedial");
          await new Promise((resolve) => (opening.onsuccess = resolve));
          const reading = opening.result.transaction("keys").objectStore("keys").get("trial");
          await new Promise((resolve) => (reading.onsuccess = resolve));
          const [{ privateKey }] = reading.result.identities;
          return crypto.subtle.exportKey("pkcs8", privateKey).then(() => "exported", (error) => error.name);
        }"""
    )
    assert exported == "InvalidAccessError"

    lanzar.page.reload()
    again = Lanzar(lanzar.page)
    expect(again.key).to_contain_text("34 de 35")
    renewed = again.launch()["lease"]
    assert (renewed["holder"], renewed["renewed"]) == (holder, True)


def test_a_forgotten_key_leads_to_a_new_trial(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    holder = lanzar.launch()["lease"]["holder"]
    lanzar.page.on("dialog", lambda dialog: dialog.accept())
    lanzar.page.get_by_role("button", name="Olvidar la clave").click()
    expect(lanzar.key).to_contain_text("Sin clave")
    expect(lanzar.receipt).to_be_hidden()
    lease = lanzar.launch()["lease"]
    assert lease["holder"] != holder
    assert lease["fencingToken"] == 1  # another workspace


def test_the_public_origin_is_signed(visit: Visit, served: ServerProcess) -> None:
    lanzar = Lanzar(visit(origin=served.url.replace("127.0.0.1", "localhost")))
    assert lanzar.launch()["ok"] is True
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
