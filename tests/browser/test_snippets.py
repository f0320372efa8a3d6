"""The code that the page offers to copy runs as it is, with the key of a workspace on the same server."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from coordination.pages.module import clients
from tests.browser.lanzar import Lanzar
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

RUN = {
    "curl": ["sh", "-s"],
    "Python": [sys.executable, "-I", "-"],
    "JavaScript": ["node", "--input-type=module", "-"],
    "CLI": ["sh", "-s"],
}
OPERATIONS = ("lease", "wait", "release", "withdraw")


def snippet(lanzar: Lanzar, way: str) -> str:
    """The request in the editor as code for one tool or language."""
    lanzar.page.get_by_role("tab", name=way, exact=True).click()
    return lanzar.page.locator(f'#way[data-shows="{way.lower()}"]').inner_text()


def run(text: str, way: str, server: ServerProcess, folder: Path) -> Any:
    """Run the code as it is; returns the finished process."""
    env = {"PATH": os.environ["PATH"], "INTRAMEDIAL_KEY": server.secrets["apiKey"]}
    done = subprocess.run(
        RUN[way], input=text, capture_output=True, text=True, timeout=60, env=env, cwd=folder
    )
    assert done.stderr == "" or way in ("curl", "CLI"), done.stderr
    return done


@pytest.mark.parametrize("way", RUN)
def test_every_way_of_every_operation_runs_as_pasted(
    visit: Visit, served: ServerProcess, tmp_path: Path, way: str
) -> None:
    lanzar = Lanzar(visit())
    resource = f'lock:it\'s/{way.lower()}/ñ "$HOME"'
    for operation in OPERATIONS:
        lanzar.choose(operation)
        lanzar.write(resource=resource)
        text = snippet(lanzar, way)
        assert "…" not in text
        done = run(text, way, served, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        output = done.stdout.replace("True", "true")
        assert re.search(r"""["']?ok["']?: ?true""", output), done.stdout
        if operation != "withdraw":
            assert re.search(r"it\\?'s", output), output


def test_without_javascript_the_samples_run_as_pasted(
    visit: Visit, served: ServerProcess, tmp_path: Path
) -> None:
    samples = visit(java_script_enabled=False).locator(".without-js pre").all_text_contents()
    assert len(samples) == len(OPERATIONS)
    for text in samples:
        done = run(text, "curl", served, tmp_path)
        assert re.search(r'"ok": ?(true|false)', done.stdout), done.stdout
        assert '"reason":"invalid_request"' not in done.stdout, done.stdout


def test_the_code_follows_the_editor_before_sending(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    for way in RUN:
        lanzar.write(resource="lock:first")
        assert "lock:first" in snippet(lanzar, way)
        lanzar.write(resource="lock:second")
        expect(lanzar.page.locator("#way")).to_contain_text("lock:second")


def test_an_mcp_client_is_configured_and_its_tool_called_as_shown(
    visit: Visit, served: ServerProcess
) -> None:
    lanzar = Lanzar(visit())
    lanzar.write(resource="lock:mcp/from-the-page")
    lanzar.page.get_by_role("tab", name="MCP", exact=True).click()
    shown = lanzar.page.locator('[data-part="mcp-clients"]')
    expect(shown).to_contain_text("lock:mcp/from-the-page")
    for name in ("Claude", "Cursor", "VS Code", "Gemini CLI", "OpenAI", "LangChain", "Pydantic AI"):
        expect(shown).to_contain_text(name)
    texts = shown.locator("pre").all_text_contents()
    assert len(texts) == len(clients.clients()) + 1
    configured = [json.loads(text) for text in texts[:-1] if re.match(r"\{.*rl\"", text, re.DOTALL)]
    assert len(configured) == 3  # Cursor, VS Code, Gemini CLI
    for configuration in configured:
        (servers,) = (value for key, value in configuration.items() if key in ("mcpServers", "servers"))
        server = servers["intramedial"]
        authorization = re.sub(r"\$\{[^}]*\}", served.secrets["apiKey"], server["headers"]["Authorization"])
        url = server.get("url") or server["httpUrl"]
        answer = call(url, authorization, shown, texts[-1])
        assert answer["result"]["structuredContent"]["ok"] is True


def test_a_client_that_was_opened_stays_open_while_the_request_is_edited(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.write(resource="lock:first")
    lanzar.page.get_by_role("tab", name="MCP", exact=True).click()
    shown = lanzar.page.locator('[data-part="mcp-clients"]')
    first, second = (shown.locator("details").nth(place) for place in (0, 1))
    first.locator("summary").click()
    second.locator("summary").click()
    lanzar.write(resource="lock:second")
    expect(shown).to_contain_text("lock:second")
    expect(second).to_have_attribute("open", "")
    expect(first).not_to_have_attribute("open", "")


def call(url: str, authorization: str, shown: Any, arguments: str) -> Any:
    """Call the shown tool with the shown arguments; returns the result."""
    tool = shown.locator(f'[data-address="{url}"]').first.inner_text()
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": json.loads(arguments)},
    }
    request = urllib.request.Request(url, data=json.dumps(message).encode())
    request.add_header("Authorization", authorization)
    request.add_header("Content-Type", "application/json")
    request.add_header("Accept", "application/json, text/event-stream")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)
