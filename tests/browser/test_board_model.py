"""The board's scripts without a page: the model agrees with the one in Python, and the order with a sort."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from intramedial.http.formats import rfc3339_of_ms
from tests.live.board import Board

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
Json = dict[str, Any]

BEGIN_MS = 1_800_000_000_000
AGENTS = [f"did:example:{name}" for name in ("ana", "bea", "cid", "dan")]
RESOURCES = ["lock:a", "lock:b", "doc:c"]
KINDS = ("granted", "renewed", "released", "expired", "queued", "withdrawn", "lapsed", "offered", "deadlock")

MODEL = """async (messages) => {
  const { Picture } = await import("/static/js/lib/picture.js");
  let picture = null;
  for (const message of messages) {
    if (message.type === "snapshot") picture = new Picture(message);
    else picture.receive(message);
  }
  const queue = [...picture.sections.values()].flatMap(({ queue }) =>
    queue.map((wait, place) => ({ ...wait, position: place + 1, waitMs: Math.min(800, 25 * 2 ** place) })));
  const agents = [...picture.agents.values()];
  const known = agents.filter(({ trust }) => trust !== null);
  const trust = Object.fromEntries(known.map(({ did, trust }) => [did, trust]));
  const held = agents.flatMap(({ did, holds }) => [...holds.keys()].map((name) => [name, did]));
  const waited = agents.flatMap(({ did, waits }) => [...waits.keys()].map((name) => [name, did]));
  const { holders, deadlocks, counters } = picture;
  return { holders, queue, deadlocks, trust, counters, held, waited };
}"""

ORDER = """async ({ begin, changes }) => {
  const { Order } = await import("/static/js/board/order.js");
  const things = new Map(begin);
  const order = new Order((key) => things.get(key), (value) => (value < 0 ? null : [value]));
  order.begin(things.keys());
  const seen = [];
  for (const { hold, set } of changes) {
    for (const [key, value] of set) value === null ? things.delete(key) : things.set(key, value);
    if (hold !== order.held) order.hold(hold);
    order.change(set.map(([key]) => key));
    seen.push({ keys: [...order.keys], pending: order.pending });
  }
  return seen;
}"""

CIRCLE = """async (count) => {
  const { drawing } = await import("/static/js/board/cycle.js");
  const cycle = Array.from({ length: count }, (_, at) => ({
    agent: `did:web:agents.example:an-agent-of-some-name-${at}`,
    waitsFor: `lock:deploy/some-service-${at}`,
  }));
  const svg = drawing(cycle, "circle");
  svg.style.width = "36rem";
  document.body.append(svg);
  const shape = (node) => node.querySelector("path, rect") ?? node.firstElementChild;
  const boxes = [...svg.querySelectorAll("[class$=-node]")].map((node) => {
    const { left, right, top, bottom } = shape(node).getBoundingClientRect();
    return { left, right, top, bottom };
  });
  const lines = [...svg.querySelectorAll(".line")].map((line) => line.getTotalLength());
  const { left, right, top, bottom } = svg.getBoundingClientRect();
  svg.remove();
  return { boxes, lines, frame: { left, right, top, bottom } };
}"""

ENDED = """async (events) => {
  const { deadlocks } = await import("/static/js/board/deadlocks.js");
  const { Log } = await import("/static/js/board/log.js");
  const root = document.createElement("div");
  for (const name of ["now", "ended", "empty", "ended-part", "more"]) {
    root.append(Object.assign(document.createElement("ul"), { className: name }));
    root.lastChild.dataset.part = name;
  }
  const at = (s) => new Date(Date.now() + s * 1000).toISOString();
  const [ana, bea] = ["did:example:ana", "did:example:bea"];
  const pair = { agents: [bea, ana], resources: ["lock:a", "lock:b"], at: at(-20) };
  pair.cycle = [{ agent: bea, waitsFor: "lock:a" }, { agent: ana, waitsFor: "lock:b" }];
  const board = { log: new Log(), picture: { deadlocks: [pair] } };
  const view = deadlocks(root, board, () => {});
  view.note();
  board.log.note(events.map(([event, actorDid, s]) => ({ event, actorDid, resource: "lock:a", at: at(s) })));
  board.picture = { deadlocks: [] };
  view.note();
  view.draw();
  return root.querySelector(".ended .quiet").textContent;
}"""

WHY = """async ([section, did, now]) => {
  const { why } = await import("/static/js/board/why.js");
  return why(section, did, now, { leaseTtlMs: 30000, offerMs: 2000 });
}"""


@pytest.fixture(scope="module")
def page(browser: Any, served: Any) -> Any:
    """A page of the site, which can import its modules."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/docs/mcp/")
    yield page
    context.close()


def at(ms: int) -> str:
    return rfc3339_of_ms(BEGIN_MS + ms)


def event(chance: random.Random, ms: int) -> Json:
    """A random event, such as the authority publishes, or one that comes again or too late."""
    made: Json = {
        "event": chance.choice(KINDS),
        "resource": chance.choice(RESOURCES),
        "actorDid": chance.choice(AGENTS),
        "mode": chance.choice(["shared", "exclusive"]),
        "at": at(ms),
        "until": at(ms + 2000),
        "fencingToken": ms,
        "acquiredAt": at(ms),
        "expiresAt": at(ms + 30_000),
    }
    if made["event"] in ("released", "expired"):
        made["trust"] = {"score": chance.choice([40.0, 50.5]), "delta": 0.5}
    return made


def messages(seed: int) -> list[Json]:
    """A snapshot, events, and another snapshot now and then."""
    chance = random.Random(seed)
    sent: list[Json] = []
    for seq in range(1, 120):
        if chance.random() < 0.03 or seq == 1:
            body: Json = {"type": "snapshot", "trust": {AGENTS[0]: {"score": 51.0}}, **picture(chance, seq)}
        else:
            body = {
                "type": "events",
                "events": [event(chance, seq * 100 + n) for n in range(chance.randrange(6))],
            }
            if chance.random() < 0.2:
                body["deadlocks"] = [{"agents": AGENTS[:2], "resources": RESOURCES[:2], "at": at(seq)}]
        sent.append({"seq": seq, **body})
    return sent


def picture(chance: random.Random, seq: int) -> Json:
    """Holders and waiters as in a snapshot, with each agent at one place at most."""
    who = chance.sample(AGENTS, 3)
    held = {"fencingToken": seq, "mode": "exclusive", "acquiredAt": at(seq), "expiresAt": at(seq + 30_000)}
    wait = {"resource": RESOURCES[0], "mode": "exclusive", "position": 1, "waitMs": 25, "since": at(seq)}
    return {
        "holders": [{"resource": name, "holder": who[0], **held} for name in RESOURCES[:2]],
        "queue": [{**wait, "actorDid": who[1]}, {**wait, "actorDid": who[2], "offeredUntil": at(seq + 9)}],
        "deadlocks": [],
    }


def by_name(items: list[Json], who: str) -> list[Json]:
    """The items in an order in which the models can be compared. Each queue keeps its order."""
    return sorted(items, key=lambda item: (item["resource"], item.get("position", 0), item[who]))


@pytest.mark.parametrize("seed", range(6))
def test_the_model_agrees_with_the_one_in_python(page: Page, seed: int) -> None:
    sent = messages(seed)
    board = Board()
    for message in sent:
        board.apply(message)
    made = page.evaluate(MODEL, sent)
    assert by_name(made["holders"], "holder") == by_name(list(board.holders.values()), "holder")
    assert by_name(made["queue"], "actorDid") == board.queue()
    assert made["deadlocks"] == board.deadlocks
    assert made["trust"] == board.trust
    assert sorted(map(tuple, made["held"])) == sorted(board.holders)
    assert sorted(map(tuple, made["waited"])) == sorted(board.queues)
    names = {name for name, _ in (*board.holders, *board.queues)}
    assert made["counters"] == {
        "resources": len(names),
        "holders": len(board.holders),
        "waiters": len(board.queues),
        "deadlocks": len(board.deadlocks),
    }


def test_the_order_is_a_sort_and_does_not_change_while_it_is_held(page: Page) -> None:
    chance = random.Random(7)
    things = {f"k{number:02d}": chance.randrange(-2, 9) for number in range(40)}
    begin, changes, expected = list(things.items()), [], []
    shown: list[str] = []
    for step in range(200):
        hold = step % 10 > 4
        moved = {f"k{chance.randrange(50):02d}": chance.choice([None, *range(-2, 9)]) for _ in range(3)}
        for key, value in moved.items():
            if value is None:
                things.pop(key, None)
            else:
                things[key] = value
        if not hold:
            shown = sorted(
                (key for key, value in things.items() if value >= 0), key=lambda key: (things[key], key)
            )
        changes.append({"hold": hold, "set": list(moved.items())})
        expected.append(list(shown))
    seen = page.evaluate(ORDER, {"begin": begin, "changes": changes})
    assert [step["keys"] for step in seen] == expected
    assert all(not step["pending"] for step, change in zip(seen, changes, strict=True) if not change["hold"])
    assert any(step["pending"] for step in seen)


def lease(did: str, ends: int, mode: str = "exclusive") -> Json:
    return {"holder": did, "mode": mode, "fencingToken": 1, "expiresAt": at(ends)}


def wait(did: str, mode: str = "exclusive", **more: Any) -> Json:
    return {"actorDid": did, "mode": mode, **more}


@pytest.mark.parametrize(
    ("holders", "queue", "latest"),
    [
        ([lease("a", 9_000)], [wait("me")], 9_000),
        # The waiter ahead may take its whole offer to claim the resource, and then holds it.
        ([lease("a", 9_000)], [wait("b"), wait("me")], 41_000),
        # A reader does not wait for readers ahead of it, but for a writer ahead.
        ([lease("a", 9_000)], [wait("b", "shared"), wait("me", "shared")], 9_000),
        ([lease("a", 9_000, "shared")], [wait("b"), wait("me", "shared")], 41_000),
        # The resource is offered to it, or to the waiter ahead.
        ([], [wait("me", offeredUntil=at(2_000))], 0),
        ([], [wait("b", offeredUntil=at(1_500)), wait("me")], 31_500),
        # A reader that wants to write waits for other readers, not for the writer behind its own lease.
        ([lease("me", 9_000, "shared")], [wait("b"), wait("me")], 0),
        ([lease("me", 9_000, "shared"), lease("c", 8_000, "shared")], [wait("me")], 8_000),
    ],
)
def test_the_latest_end_of_a_wait(page: Page, holders: list[Json], queue: list[Json], latest: int) -> None:
    section = {"holders": holders, "queue": queue}
    assert page.evaluate(WHY, [section, "me", BEGIN_MS])["until"] == BEGIN_MS + latest


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("agents", [2, 3, 4, 5, 6, 7, 500])
def test_the_parts_of_a_drawn_cycle_do_not_cover_one_another(page: Page, agents: int, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    drawn = page.evaluate(CIRCLE, agents)
    frame, boxes = drawn["frame"], drawn["boxes"]
    assert len(boxes) == len(drawn["lines"]) == min(2 * agents, 12 if agents <= 6 else 11)
    for one, other in itertools.combinations(boxes, 2):
        beside = one["right"] < other["left"] or other["right"] < one["left"]
        assert beside or one["bottom"] < other["top"] or other["bottom"] < one["top"]
    # There is room for an arrow's head, and for a signal on the line of the refused agent.
    assert min(drawn["lines"]) > 20
    assert drawn["lines"][0] > 34
    for box in boxes:
        assert frame["left"] <= box["left"] < box["right"] <= frame["right"] + 1
        assert frame["top"] <= box["top"] < box["bottom"] <= frame["bottom"] + 1


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([("granted", "did:example:ana", -21), ("deadlock", "did:example:bea", -20)], "bd_ended_forgotten"),
        ([("renewed", "did:example:ana", -1)], "bd_ended_forgotten"),
        ([("released", "did:example:cid", -1)], "bd_ended_forgotten"),
        ([("released", "did:example:ana", -10)], "bd_ended_forgotten"),
        ([("released", "did:example:ana", -1)], "bd_ended_released"),
        ([("released", "did:example:ana", -1), ("granted", "did:example:cid", 0)], "bd_ended_released"),
    ],
)
def test_the_end_of_a_deadlock_names_a_possible_cause(
    page: Page, events: list[tuple[str, str, float]], shown: str
) -> None:
    assert page.evaluate(ENDED, events).startswith(shown)
