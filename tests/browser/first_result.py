"""How long a first visitor waits: `python -m tests.browser.first_result` prints it in milliseconds.

The time is from the keystroke to the verified receipt on the screen, for visitors without a key, on a private
server that is warm. The browser loads scripts, makes and registers the key, signs, and verifies the receipt.
"""

import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, chromium
from tests.server import ServerProcess, bootstrap

VISITORS = 11
WATCH = """() => new Promise((resolve) => {
  let pressed;
  addEventListener("keydown", (event) => event.key === "Enter" && (pressed = performance.now()), true);
  const times = {};
  new MutationObserver(() => {
    const now = performance.now() - pressed;
    if (document.querySelector('[data-part="answer"] .verdict')) times.answer ??= now;
    if (document.querySelector('[data-part="receipt"] [data-verified="true"]')) {
      requestAnimationFrame(() => resolve({ ...times, verified: performance.now() - pressed }));
    }
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
})"""


def once(page: Page, url: str) -> dict[str, float]:
    """The times of one visitor, who opens the page and presses Ctrl+Enter."""
    page.goto(url, wait_until="networkidle")
    page.locator("#lanzar[data-ready]").wait_for()
    page.evaluate(f"() => {{ window.seen = ({WATCH})(); }}")
    page.keyboard.press("Control+Enter")
    times: dict[str, float] = page.evaluate("() => window.seen")
    return times


def main() -> None:
    """Measure and print the times."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data_dir = bootstrap(Path(folder), {})
        server = ServerProcess(data_dir, {"INTRAMEDIAL_TRIALS_PER_HOUR": "1000"}).start()
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            found = []
            for _ in range(VISITORS):
                context = browser.new_context()
                found.append(once(context.new_page(), server.url))
                context.close()
        finally:
            browser.close()
            server.kill()
    for name in ("answer", "verified"):
        times = [visit[name] for visit in found[1:]]  # the first visit warms the server
        print(f"{name}: median {median(times):.0f} ms, longest {max(times):.0f} ms, of {len(times)} visitors")


if __name__ == "__main__":
    main()
