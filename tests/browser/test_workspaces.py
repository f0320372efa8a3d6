"""Workspaces in a browser: from the request for access to a revoked key, members, and an adopted trial."""

import re
import secrets
import subprocess
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lanzar import Lanzar
from tests.browser.membership import asked
from tests.browser.test_accounts import fine, in_all, sign_up
from tests.people import PASSWORD
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

PAGES = (
    *("", "claves/", "firmas/", "miembros/", "auditoria/", "ajustes/"),
    *("auditoria/?since=x", "auditoria/?since=2001-01-01&until=2001-01-01"),
)


def new_address() -> str:
    """An e-mail address that no account has."""
    return f"person-{secrets.token_hex(4)}@example.com"


def run(line: str) -> str:
    """Run the shown command in a shell; returns its output."""
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_the_request_for_access_to_a_revoked_key(visit: Visit, served: ServerProcess) -> None:
    page, email = visit("/pedir-acceso/"), new_address()
    page.get_by_label("Correo electrónico").fill(email)
    page.get_by_label("Para qué lo quieres").fill("Dos agentes que despliegan.")
    page.get_by_role("button", name="Pedir acceso").click()
    expect(page).to_have_url(f"{served.url}/pedir-acceso/hecho/")
    page.goto(f"{served.url}/registro/")
    sign_up(page, served.secrets["betaPassword"], email)
    expect(page.get_by_text("Todavía no estás en ningún espacio")).to_be_visible()

    page.get_by_label("Nombre").fill("pаypal")
    page.get_by_role("button", name="Crear espacio").click()
    expect(page.get_by_label("Nombre")).to_have_attribute("aria-invalid", "true")
    fine(page)
    page.get_by_label("Nombre").fill("Pagos")
    page.get_by_role("button", name="Crear espacio").dblclick()
    expect(page.get_by_role("heading", name="Primeros pasos")).to_be_visible()
    expect(page.locator(".first-steps .is-done")).to_have_count(0)

    page.get_by_role("link", name="Crea una clave").click()
    page.get_by_label("solo por un agente").check()
    page.get_by_role("button", name="Crear clave").click()
    expect(page.get_by_label("DID del agente")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("solo por un agente")).to_be_checked()
    page.get_by_label("DID del agente").fill("did:web:agents.example:ana")
    page.get_by_label("Para qué").fill("el robot")
    page.get_by_role("button", name="Crear clave").dblclick()
    expect(page.get_by_role("heading", name="Clave nueva")).to_be_visible()
    fine(page)
    shown = page.locator("#terminal").inner_text()
    assert '"ok":true' in run(shown)

    page.get_by_role("link", name="Ya la he guardado").click()
    expect(page.get_by_role("rowheader")).to_have_count(1)
    expect(page.get_by_role("row", name="el robot")).to_contain_text("hace menos de un minuto")
    page.get_by_role("link", name="Resumen").click()
    expect(page.locator(".first-steps .is-done")).to_have_count(2)
    fine(page)

    page.goto(page.url + "claves/")
    page.get_by_role("link", name=re.compile("^Revocar imk_")).click()
    expect(page.get_by_text(re.compile("Se usó hace"))).to_be_visible()
    fine(page)
    page.get_by_role("button", name="Revocar la clave").click()
    revoked = time.monotonic()
    expect(page.get_by_text("ya no vale.")).to_be_visible()
    with_status = shown.replace("curl -sS", "curl -sS -w '%{http_code}'")
    while not (output := run(with_status)).endswith("401"):
        assert time.monotonic() - revoked < 30, output
    page.get_by_role("link", name="Auditoría").click()
    expect(page.get_by_role("row")).to_have_count(4)
    fine(page)


def test_a_member_is_invited_and_removed(visit: Visit, served: ServerProcess) -> None:
    made, email = asked(served, role="owner"), new_address()
    at = f"/espacios/{made['workspace']}/"
    owner = visit("/")
    owner.context.add_cookies([made["cookie"]])
    owner.goto(f"{served.url}{at}miembros/")
    owner.get_by_label("Correo electrónico").fill(email)
    owner.get_by_label("lector").check()
    owner.get_by_role("button", name="Invitar").click()
    link = owner.locator(".secret code").inner_text()
    fine(owner)

    # The browser keeps the link's code during sign-up.
    guest = visit(link.removeprefix(served.url))
    fine(guest)
    guest.get_by_role("link", name="Registrarme").click()
    sign_up(guest, served.secrets["betaPassword"], email)
    expect(guest.get_by_label("Código de la invitación")).to_have_value(link.partition("#")[2])
    fine(guest)
    guest.get_by_role("button", name="Unirme al espacio").click()
    expect(guest).to_have_url(served.url + at)
    expect(guest.get_by_text("Ya estás en")).to_be_visible()
    expect(guest.get_by_role("link", name="Auditoría")).to_have_count(0)
    guest.get_by_role("link", name="Claves", exact=True).click()
    expect(guest.get_by_text("como lector no ves más")).to_be_visible()

    owner.reload()
    owner.get_by_role("link", name=f"Cambiar {email}").click()
    fine(owner)
    owner.get_by_role("button", name=f"Sacar a {email}").click()
    expect(owner.get_by_text("ya no está en el espacio")).to_be_visible()
    assert guest.goto(served.url + at).status == 404

    owner.goto(f"{served.url}{at}ajustes/")
    owner.get_by_role("link", name="Borrar el espacio").click()
    owner.get_by_label("Tu contraseña").fill(PASSWORD)
    owner.get_by_role("button", name="Seguir").click()
    owner.get_by_label("Nombre del espacio").fill("Otro")
    owner.get_by_role("button", name="Borrar para siempre").click()
    expect(owner.get_by_text("No es el nombre de este espacio.")).to_be_visible()
    fine(owner)
    owner.get_by_label("Nombre del espacio").fill("Prueba")
    owner.get_by_role("button", name="Borrar para siempre").click()
    expect(owner.get_by_text("ya no existe")).to_be_visible()


def test_a_trial_is_adopted(visit: Visit, served: ServerProcess) -> None:
    made = asked(served, role="viewer")
    lanzar = Lanzar(visit())
    page = lanzar.page
    lanzar.launch()
    page.context.add_cookies([made["cookie"]])
    page.goto(f"{served.url}/espacios/prueba/")
    page.get_by_label("Nombre del espacio").fill(" ")
    page.get_by_role("button", name="Quedarme con ella").click()
    expect(page.get_by_text("Escribe un nombre.")).to_be_visible()
    fine(page)
    page.get_by_label("Nombre del espacio").fill("La mía")
    page.get_by_role("button", name="Quedarme con ella").click()
    expect(page.get_by_role("heading", name="Primeros pasos")).to_be_visible()
    page.get_by_role("link", name="Firmas").click()
    expect(page.get_by_role("rowheader")).to_have_count(1)

    page.goto(served.url)
    expect(page.get_by_text("sin límite de llamadas")).to_be_visible()
    lanzar = Lanzar(page)
    lanzar.launch()
    expect(lanzar.board.locator(".section")).to_have_count(1)
    page.goto(f"{served.url}/espacios/prueba/")
    expect(page.get_by_text("no hay ninguna prueba en marcha")).to_be_visible()
    fine(page)


def test_every_page_is_accessible_in_both_themes_and_sizes(visit: Visit, served: ServerProcess) -> None:
    made = asked(served, role="owner")
    # A browser does not show a malformed date again.
    page = visit("/", expect=("does not conform to the required format",))
    page.context.add_cookies([made["cookie"]])
    for path in (*PAGES, f"claves/{made['apiKey'][:12]}/rotar/"):
        page.goto(f"{served.url}/espacios/{made['workspace']}/{path}")
        in_all(page)
    page.goto(f"{served.url}/en/espacios/{made['workspace']}/ajustes/")
    fine(page)
    expect(page.get_by_role("heading", name="Semantic classes")).to_be_visible()
