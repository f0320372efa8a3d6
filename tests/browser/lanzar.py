"""Lanzar, the part of the module page that sends requests, as a visitor uses it."""

import json
import sqlite3
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.server import ServerProcess


def change_trial(server: ServerProcess, did: str, what: str) -> None:
    """Set columns of the trial of `did`, as time or use changes them: `calls_used = 32`."""
    with sqlite3.connect(server.data_dir / "default.sqlite3", timeout=20) as database:
        changed = database.execute(f"UPDATE workspaces_trial SET {what} WHERE did = ?", (did,))
        assert changed.rowcount == 1


class Lanzar:
    """What a visitor does in Lanzar, and the elements that they look at."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.editor = page.get_by_role("textbox", name="Cuerpo de la petición")
        self.answer = page.locator('[data-part="answer"]')
        self.receipt = page.locator('[data-part="receipt"]')
        self.board = page.locator('[data-part="board"]')
        self.key = page.locator('[data-part="key"]')
        page.locator("#lanzar[data-ready]").wait_for()

    @property
    def text(self) -> str:
        """The text in the editor, in either kind of editor."""
        text: str = self.page.locator("json-editor").evaluate("editor => editor.value")
        return text

    def launch(self) -> dict[str, Any]:
        """Press Ctrl+Enter; returns the body of the answer, as the server sent it."""
        self.editor.focus()
        with self.page.expect_response(lambda answer: "/acp/coordination/" in answer.url) as waiting:
            self.page.keyboard.press("Control+Enter")
        body: dict[str, Any] = waiting.value.json()
        expect(self.answer).not_to_have_attribute("aria-busy", "true")
        return body

    def choose(self, operation: str) -> None:
        """Choose an operation by its name in the API."""
        self.page.locator(f'input[name="operation"][value="{operation}"]').check()

    def write(self, **members: Any) -> None:
        """Change members of the JSON in the editor. None removes a member."""
        body = {**json.loads(self.text), **members}
        kept = {name: value for name, value in body.items() if value is not None}
        self.fill(json.dumps(kept, indent=2, ensure_ascii=False))

    def fill(self, text: str) -> None:
        """Replace the text in the editor."""
        self.editor.focus()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def add_agent(self) -> None:
        """Add an agent to the trial. It signs from now on."""
        before = self.page.locator(".signers input").count()
        self.page.get_by_role("button", name="Añadir otro agente").click()
        expect(self.page.locator(".signers input")).to_have_count(before + 1)

    def sign_as(self, letter: str) -> None:
        """Choose the agent of the trial that signs."""
        self.page.locator(".signers").get_by_role("radio", name=letter, exact=True).check()

    def section(self, resource: str) -> Locator:
        """The part of the board that shows a resource."""
        return self.board.locator(".section", has=self.page.get_by_text(resource, exact=True))
