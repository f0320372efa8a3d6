"""How long the live board takes to open, and its frames while many events happen, in Chromium.

    python -m tests.bench.board_page [--leases 10000] [--waits 5000] [--events 200] [--seconds 10]

Fills a workspace, opens its board, and causes events in the visible part: grants and releases at the head
of the list, and renewals of visible rows. Prints the figures and writes them to `results/board_page.json`.
A frame's interval is the time from one animation frame to the next; its work is the time from its
beginning until the browser has drawn it.
"""

import argparse
import datetime
import http.client
import json
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from coordination.core.decide import decide
from coordination.core.messages import Acquire, Granted, Held
from coordination.core.model import Mode
from coordination.storage.engines.sqlite.engine import SqliteEngine
from coordination.storage.store import Needs, Store
from coordination.wire.ids import new_lease_id
from tests.browser.conftest import FLAGS, chromium
from tests.browser.membership import asked
from tests.server import ServerProcess, bootstrap

from . import fill, machine
from .figures import percentile

RESULTS = Path(__file__).parent / "results"
AT_ONCE = 1000
IN_SIGHT = 20
SPEAKERS = 4
DROPPED_MS = 25  # between one frame at 60 a second and two
WAITERS_EACH = 2
READY = """
  window.opened = new Promise((resolve) => {
    const look = () => document.querySelector("#board[data-ready] .list-rows .list-row")
      ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
      : setTimeout(look, 2);
    look();
  });
"""
FRAMES = """(seconds) => new Promise((resolve) => {
  const intervals = [], work = [];
  const channel = new MessageChannel();
  let before = null, begun = 0;
  channel.port1.onmessage = () => work.push(performance.now() - begun);
  const end = performance.now() + seconds * 1000;
  const frame = (now) => {
    begun = performance.now();
    if (before !== null) intervals.push(now - before);
    before = now;
    channel.port2.postMessage(0);
    if (begun < end) requestAnimationFrame(frame);
    else resolve({ intervals, work });
  };
  requestAnimationFrame(frame);
})"""


def filled(data_dir: Path, workspace: str, leases: int, waits: int) -> None:
    """Write the leases and the waits through the product's own store, while no server runs."""
    engine = SqliteEngine(data_dir / "leases.sqlite3")
    try:
        store = Store(engine, fill.RULES, outage_after_ms=None)
        asks = [(fill.resource(n), fill.agent(n)) for n in range(leases)]
        waiting = [(fill.resource(n // WAITERS_EACH), fill.agent(leases + n)) for n in range(waits)]
        for pairs, expected in ((asks, Granted), (waiting, Held)):
            for start in range(0, len(pairs), AT_ONCE):
                _ask(store, workspace, pairs[start : start + AT_ONCE], expected)
    finally:
        engine.close()


def _ask(store: Store, workspace: str, pairs: list[tuple[str, str]], expected: type) -> None:
    needs = Needs({name for name, _ in pairs}, {did for _, did in pairs})
    with store.transaction({workspace: needs}, lambda: int(time.time() * 1000)) as transaction:
        for name, did in pairs:
            ask = Acquire(name, Mode.EXCLUSIVE, did, new_lease_id())
            outcome = decide(transaction.worlds[workspace], ask, transaction.now)
            assert isinstance(outcome, expected), outcome


class Speakers:
    """Threads that together cause that many events a second, until they are stopped."""

    def __init__(self, server: ServerProcess, key: str, events_a_second: float) -> None:
        self._port, self._key = server.port, key
        self._pause_s = SPEAKERS / events_a_second
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.events = 0
        self._threads = [threading.Thread(target=self._speak, args=(number,)) for number in range(SPEAKERS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _speak(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        connection.connect()
        # Head and body are two writes, and the second would wait until the first is acknowledged.
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        turn, due = 0, time.monotonic()
        while not self._stop.is_set():
            turn += 1
            seen = (turn * SPEAKERS + number) % IN_SIGHT
            mine = f"lock:busy/{number}-{turn % 40 // 2}"
            operation, name, did = (
                ("lease", fill.resource(seen), fill.agent(seen))
                if turn % 4 < 2
                else ("lease" if turn % 2 else "release", mine, fill.agent(number))
            )
            body = json.dumps({"resource": name, "actorDid": did})
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request("POST", f"/api/v1/acp/coordination/{operation}", body, headers)
            done = bool(json.load(connection.getresponse())["ok"])
            with self._lock:
                self.events += done
            due += self._pause_s
            self._stop.wait(max(0.0, due - time.monotonic()))


def measured(page: Page, address: str, seconds: float, speak: Any) -> dict[str, float]:
    """One opening of the board and its frames during the events."""
    page.goto(address)
    opened_ms = float(page.evaluate("window.opened"))
    rows = int(page.evaluate("Number(document.querySelector('.view:not([hidden]) .list').ariaRowCount) - 1"))
    speakers = speak()
    try:
        page.wait_for_timeout(2000)
        before = speakers.events
        frames = page.evaluate(FRAMES, seconds)
        events = speakers.events - before
    finally:
        speakers.stop()
    intervals, work = frames["intervals"], frames["work"]
    return {
        "opened_ms": opened_ms,
        "rows": rows,
        "events_s": events / seconds,
        "frames_s": len(intervals) / seconds,
        "interval_p50_ms": percentile(intervals, 0.5),
        "interval_p99_ms": percentile(intervals, 0.99),
        "interval_max_ms": max(intervals),
        "dropped_frames": sum(ms > DROPPED_MS for ms in intervals),
        "work_p50_ms": percentile(work, 0.5),
        "work_p99_ms": percentile(work, 0.99),
        "work_max_ms": max(work),
        "over_16_percent": 100 * sum(ms > 16 for ms in work) / len(work),
    }


def main() -> None:
    """Measure, print, and store the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.board_page")
    for name, default in (("leases", 10_000), ("waits", 5_000), ("events", 200), ("seconds", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    directory = machine.work_directory()
    data_dir = directory / "board"
    data_dir.mkdir()
    server = ServerProcess(bootstrap(data_dir, {}), fill.SERVER)
    team = asked(server, role="viewer")
    filled(data_dir, team["workspace"], options.leases, options.waits)
    document: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine.describe(),
        **vars(options),
        "views": {},
    }
    try:
        server.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            context = browser.new_context(viewport={"width": 1600, "height": 1000})
            context.add_cookies([team["cookie"]])
            context.add_init_script(READY)
            page = context.new_page()
            address = f"{server.url}/espacios/{team['workspace']}/panel/"
            for query in ("", "?orden=nombre", "?vista=agentes"):
                document["views"][query or "recursos"] = measured(
                    page,
                    address + query,
                    options.seconds,
                    lambda: Speakers(server, team["apiKey"], options.events),
                )
            browser.close()
    finally:
        server.kill()
        shutil.rmtree(directory, ignore_errors=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "board_page.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
