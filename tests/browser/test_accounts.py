"""An account in a browser, from the request for access to its deletion, in all sizes and themes."""

import secrets
from collections.abc import Callable

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from playwright.sync_api import Page, expect

from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

PASSWORD = "a long pass phrase"
OF_ANYBODY = (
    *("/acceso/", "/registro/", "/pedir-acceso/", "/cuenta/contrasena/olvidada/"),
    *("/legal/aviso/", "/legal/privacidad/", "/legal/cookies/", "/legal/conservacion/"),
)
OF_AN_ACCOUNT = (
    *("/cuenta/", "/cuenta/correo/", "/cuenta/contrasena/", "/cuenta/sesiones/", "/cuenta/borrar/"),
    *("/cuenta/dos-pasos/activar/", "/cuenta/comprobar/", "/salir/", "/en/cuenta/"),
)


def press_to(page: Page, name: str) -> None:
    """Press Tab until the element with this label or text has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        words = page.evaluate(
            "[document.activeElement.labels?.[0]?.innerText, document.activeElement.innerText].join(' ')"
        )
        if name in words:
            return
    pytest.fail(f"{name} cannot be reached by keyboard")


def fine(page: Page) -> None:
    """Assert that the page is accessible and not wider than the screen."""
    assert violations(page) == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0, page.url


def sign_up(page: Page, beta: str, email: str) -> None:
    """Fill in the form to sign up, and send it."""
    page.get_by_label("Correo electrónico").fill(email)
    page.get_by_label("Contraseña", exact=True).fill(PASSWORD)
    page.get_by_label("Contraseña de la beta").fill(beta)
    page.get_by_role("button", name="Registrarse").click()


def end_account(page: Page, email: str) -> None:
    """Delete the account: give the password again and type the address."""
    page.get_by_label("Tu contraseña").fill(PASSWORD)
    page.get_by_role("button", name="Seguir").click()
    page.get_by_label("Escribe la dirección de la cuenta").fill("otra@example.com")
    page.get_by_role("button", name="Borrar mi cuenta").click()
    expect(page.get_by_text("No es la dirección de esta cuenta.")).to_be_visible()
    fine(page)
    page.get_by_label("Escribe la dirección de la cuenta").fill(email)
    page.get_by_role("button", name="Borrar mi cuenta").click()


def test_from_the_request_for_access_to_the_deletion_of_the_account(
    visit: Visit, served: ServerProcess
) -> None:
    email = f"ana-{secrets.token_hex(4)}@example.com"
    page = visit("/")
    page.get_by_role("complementary").get_by_role("link", name="con este formulario").click()
    page.get_by_label("Correo electrónico").fill("ana")
    page.get_by_label("Para qué lo quieres").fill("Tres agentes que despliegan.")
    page.get_by_role("button", name="Pedir acceso").click()
    expect(page.get_by_label("Correo electrónico")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Para qué lo quieres")).to_have_value("Tres agentes que despliegan.")
    fine(page)
    page.get_by_label("Correo electrónico").fill(email)
    page.get_by_role("button", name="Pedir acceso").click()
    expect(page.get_by_role("heading", name="La tenemos")).to_be_visible()

    page.goto(f"{served.url}/registro/")
    sign_up(page, "nonsense", email)
    expect(page.get_by_text("no es ninguna de las nuestras")).to_be_visible()
    expect(page.get_by_label("Correo electrónico")).to_have_value(email)
    fine(page)
    sign_up(page, served.secrets["betaPassword"], email)
    expect(page).to_have_url(f"{served.url}/espacios/")

    # From here on by keyboard only: the menu, the account, a name.
    press_to(page, "Cuenta")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Salir")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Salir")).to_be_hidden()
    page.keyboard.press("Enter")
    press_to(page, "Tu cuenta")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Tu cuenta")).to_be_visible()
    press_to(page, "Nombre")
    page.keyboard.type("Ana")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Guardado.")).to_be_visible()

    # Two-step verification: the code, the recovery codes, which are shown once, and log-in with both.
    page.get_by_role("link", name="Activarla").click()
    page.get_by_label("Tu contraseña").fill(PASSWORD)
    page.get_by_role("button", name="Seguir").click()
    secret = page.locator(".secret pre").inner_text()
    page.get_by_label("Código", exact=True).fill(code_of(secret))
    page.get_by_role("button", name="Activar").click()
    expect(page.get_by_role("heading", name="Códigos de recuperación")).to_be_visible()
    recovery = page.locator(".secret pre").inner_text().split()[0]
    fine(page)
    page.goto(f"{served.url}/salir/")
    page.get_by_role("main").get_by_role("button", name="Salir").click()
    expect(page.get_by_role("banner").get_by_role("link", name="Entrar")).to_be_visible()
    page.goto(f"{served.url}/acceso/?next=/cuenta/borrar/")
    page.get_by_label("Correo electrónico").fill(email)
    page.get_by_label("Contraseña", exact=True).fill(PASSWORD)
    page.get_by_label("Contraseña de la beta").fill(served.secrets["betaPassword"])
    page.get_by_role("button", name="Entrar").click()
    page.get_by_label("Código").fill("000000")
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_text("Ese código no vale.")).to_be_visible()
    fine(page)
    page.get_by_label("Código").fill(recovery)
    page.get_by_role("button", name="Entrar").click()

    end_account(page, email)
    expect(page).to_have_url(f"{served.url}/")


def code_of(secret: str) -> str:
    """The code that an authenticator app shows now."""
    return str(format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time())))))


def test_every_page_is_accessible_in_both_themes_and_sizes(visit: Visit, served: ServerProcess) -> None:
    page = visit("/registro/")
    for path in OF_ANYBODY:
        page.goto(served.url + path)
        in_all(page)
    page.goto(f"{served.url}/registro/")
    sign_up(page, served.secrets["betaPassword"], f"bea-{secrets.token_hex(4)}@example.com")
    expect(page).to_have_url(f"{served.url}/espacios/")
    for path in OF_AN_ACCOUNT:
        page.goto(served.url + path)
        if "comprobar" in page.url and "comprobar" not in path:
            page.get_by_label("Tu contraseña").fill(PASSWORD)
            page.get_by_role("button", name="Seguir").click()
        page.locator(".account-menu > summary").click()
        in_all(page)


def in_all(page: Page) -> None:
    """Check the page as it is: narrow in the dark theme, and wide in the light theme."""
    for width, theme in ((360, "dark"), (1600, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        fine(page)
