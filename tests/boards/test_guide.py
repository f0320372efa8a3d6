"""The page on live sockets describes what the sockets do."""

from django.test import Client

from coordination.core.messages import Kind
from coordination.live import base_consumer
from coordination.pages.board.guide import CLOSINGS, KINDS
from intramedial.http.problems import Problem
from tests.boards.test_board import text


def test_every_code_and_every_event_is_described(client: Client) -> None:
    codes = {(closing.code, closing.reason) for closing in CLOSINGS}
    reasons = ("unauthenticated", "trial_expired", "forbidden", "not_found", "authority_unavailable")
    refusals = {base_consumer.ending(Problem(reason, "")) for reason in reasons}
    assert codes == {
        *refusals,
        base_consumer.SLOW,
        base_consumer.FLOOD,
        base_consumer.TOO_LARGE,
        base_consumer.NOT_NOW,
        (1012, ""),
    }
    assert {kind.name for kind in KINDS} == set(Kind)
    page = text(client.get("/docs/panel/"))
    assert all(str(code) in page and reason in page for code, reason in codes)
    assert "Following a workspace live" in text(client.get("/en/docs/panel/"))
