"""The live board beside Lanzar shows events as they happen, by the server's clock."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.lanzar import Lanzar
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

RESOURCE = "lock:deploy/production"
SECONDS = re.compile(r"^\d{1,2},\d s$")


def seconds(text: str) -> float:
    """The seconds that a countdown shows."""
    assert SECONDS.match(text), text
    return float(text.removesuffix(" s").replace(",", "."))


def test_a_grant_is_seen_with_its_countdown(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    expect(lanzar.board).to_contain_text("se conecta en cuanto tengas clave")
    lanzar.launch()

    section = lanzar.section(RESOURCE)
    expect(section).to_contain_text("testigo 1")
    expect(section).to_contain_text("Agente A")
    expect(section).to_contain_text("exclusivo")
    expect(lanzar.board).to_contain_text("En vivo")
    countdown = section.get_by_role("timer")
    first = seconds(countdown.inner_text())
    assert 0 < first <= 30
    expect(countdown).not_to_have_text(f"{first:.1f} s".replace(".", ","))
    assert seconds(countdown.inner_text()) < first


def test_the_queue_is_in_order_and_a_release_makes_an_offer(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    for _ in range(2):
        lanzar.add_agent()
        lanzar.launch()
    places = lanzar.section(RESOURCE).locator(".queue li")
    expect(places).to_have_text(
        [re.compile(r"Puesto 1.*Agente B.*25 ms"), re.compile(r"Puesto 2.*Agente C.*50 ms")]
    )

    lanzar.sign_as("A")
    lanzar.choose("release")
    lanzar.launch()
    expect(lanzar.board.locator(".log")).to_contain_text("Devuelto")
    expect(lanzar.board.locator(".log")).to_contain_text("Ofrecido")

    lanzar.sign_as("B")
    lanzar.choose("withdraw")
    lanzar.launch()
    expect(lanzar.section(RESOURCE).locator(".queue")).not_to_contain_text("Agente B")


def test_a_deadlock_is_listed_with_agents_and_resources(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    lanzar.add_agent()
    lanzar.write(resource="lock:b")
    lanzar.launch()
    lanzar.write(resource=RESOURCE)
    assert lanzar.launch()["reason"] == "lease_held"
    lanzar.sign_as("A")
    lanzar.write(resource="lock:b")
    refused = lanzar.launch()

    assert (refused["reason"], refused["waitingOn"]) == ("deadlock", RESOURCE)
    expect(lanzar.answer).to_contain_text(f"Lo tiene el agente B, que espera {RESOURCE}")
    pair = lanzar.board.locator(".deadlocks")
    expect(pair).to_contain_text("Un interbloqueo evitado")
    expect(pair).to_contain_text(re.compile(r"Agente A …\w{5} pidió lock:b"))
    expect(pair).to_contain_text(re.compile(rf"Agente B …\w{{5}} lo tiene y espera {RESOURCE}"))


def test_an_empty_board_says_that_nothing_is_held(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    expect(lanzar.section(RESOURCE)).to_be_visible()
    lanzar.choose("release")
    lanzar.launch()
    expect(lanzar.board).to_contain_text("Nadie tiene nada ahora mismo.")


def test_an_expired_lease_leaves_and_a_lost_server_comes_back(
    visit: Visit, live_server_process: Callable[..., ServerProcess]
) -> None:
    server = live_server_process(INTRAMEDIAL_LEASE_TTL_MS="2000")
    lanzar = Lanzar(visit(origin=server.url, expect=("WebSocket connection", "net::ERR_CONNECTION_REFUSED")))
    lanzar.choose("wait")
    lanzar.launch()
    expect(lanzar.board).to_contain_text("En vivo")
    # Its two seconds may be over when the test looks. The log of the board keeps what the section showed.
    lanzar.choose("lease")
    lanzar.launch()
    expect(lanzar.board.locator(".log")).to_contain_text("Concedido")
    expect(lanzar.board.locator(".log")).to_contain_text("Caducado")
    expect(lanzar.section(RESOURCE)).to_have_count(0)

    server.kill()
    expect(lanzar.board).to_contain_text("Reconectando · datos de hace")
    server.start()
    expect(lanzar.board).to_contain_text("En vivo", timeout=30_000)


def test_a_gap_in_the_numbers_asks_for_a_snapshot(visit: Visit) -> None:
    page = visit("/estatico-que-no-existe/")
    asked: list[dict[str, str]] = []
    lost: list[str] = []

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def from_page(text: str | bytes) -> None:
            asked.append(json.loads(text))
            server.send(text)

        def from_server(text: str | bytes) -> None:
            message = json.loads(text)
            if message["type"] == "events" and message["events"] and not lost:
                lost.append(message["events"][0]["event"])
            else:
                socket.send(text)

        socket.on_message(from_page)
        server.on_message(from_server)

    page.route_web_socket("**/ws/prueba/", between)
    page.goto(page.url.replace("estatico-que-no-existe/", ""))
    lanzar = Lanzar(page)
    lanzar.launch()
    expect(lanzar.section(RESOURCE)).to_be_visible()
    lanzar.choose("release")
    lanzar.launch()
    lanzar.choose("lease")
    lanzar.write(resource="lock:next")
    lanzar.launch()

    expect(lanzar.section("lock:next")).to_be_visible()
    expect(lanzar.section(RESOURCE)).to_have_count(0)
    assert lost
    assert asked == [{"type": "resync"}]


KEPT = """async () => {
  const { Board } = await import("/static/js/parts/board.js");
  const root = document.createElement("section");
  root.innerHTML =
    '<b data-part="connection"></b><p data-part="announcer"></p><div data-part="board-body"></div>';
  document.body.append(root);
  const live = Object.assign(new EventTarget(), { state: "live", receivedAt: Date.now() });
  const board = new Board(root, live, () => "");
  const [ana, bea] = ["did:web:agents.example:ana", "did:web:agents.example:bea"];
  const at = new Date().toISOString();
  const picture = () => ({
    holders: [
      { resource: "lock:a", holder: ana, mode: "exclusive", acquiredAt: at, expiresAt: at, fencingToken: 7 },
    ],
    queue: [{ resource: "lock:a", actorDid: bea, mode: "exclusive", since: at }],
    deadlocks: [{ agents: [ana, bea], resources: ["lock:b", "lock:a"], cycle: [], at }],
  });
  const event = { event: "queued", resource: "lock:a", actorDid: bea, at };
  board.show(picture(), [event]);
  const lost = [];
  for (const [index, button] of [...root.querySelectorAll("short-did button")].entries()) {
    button.focus();
    board.show(picture(), index % 2 ? [event] : []);
    if (document.activeElement !== button) lost.push(index);
  }
  const count = root.querySelectorAll("short-did button").length;
  const shown = [];
  const ages = [["live", 0], ["live", 9000], ["live", 10_000], ["reconnecting", 11_000], ["paused", 12_000]];
  for (const [state, age] of ages) {
    Object.assign(live, { state, receivedAt: Date.now() - age });
    live.dispatchEvent(new Event("state"));
    const [chip, announcer] = root.children;
    const stale = root.lastChild.hasAttribute("data-stale");
    const texts = [chip, announcer].map((part) => part.textContent.replace(/[,.]\\d/, ""));
    shown.push([...texts, stale]);
  }
  return { lost, count, shown };
}"""


def test_the_focus_stays_and_the_age_of_data_is_not_announced_every_second(visit: Visit) -> None:
    seen = visit("/").evaluate(KEPT)
    assert seen["count"] >= 5
    assert seen["lost"] == []
    assert seen["shown"] == [
        ["En vivo", "En vivo", False],
        ["Datos de hace 9 s", "Datos de hace 9 s", True],
        ["Datos de hace 10 s", "Datos de hace 9 s", True],
        ["Reconectando · datos de hace 11 s", "Reconectando · datos de hace 11 s", True],
        ["En pausa", "En pausa", True],
    ]
