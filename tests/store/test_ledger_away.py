"""A server whose ledger hangs, or is missing when it starts: leases are not affected."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from time import monotonic
from typing import Any

import psycopg
import pytest
from django.core.management.base import CommandError
from django.db import OperationalError, connections

from intramedial.databases import usable
from intramedial.management.commands import serve
from tests.server import ServerProcess
from tests.services import Postgres
from tests.store.kill9 import Caller
from tests.store.proxy import HANG, PASS, Proxy

ANSWERED_S = 4.5  # on a busy machine; a request to the ledger gives up after five seconds


@pytest.fixture
def proxy(postgres_cluster: Postgres) -> Iterator[Proxy]:
    with Proxy(postgres_cluster.port) as proxy:
        yield proxy


def cycles(caller: Caller, many: int) -> dict[str, str]:
    """Acquire and release; returns the receipts. No answer is slow."""
    receipts = {}
    for number in range(many):
        body = {"resource": f"lock:{number}", "actorDid": "did:web:agent.example"}
        for path in ("/lease", "/release"):
            began = monotonic()
            status, answer = caller.call("POST", path, body)
            assert (status, monotonic() - began < ANSWERED_S) == (200, True)
            receipts[answer["receipt"]["id"]] = answer["receipt"]["jws"]
    return receipts


def entries(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        query = "SELECT index, receipt_id, leaf FROM ledger_entry ORDER BY index"
        return connection.execute(query).fetchall()


def caught_up(url: str, receipts: dict[str, str], within_s: float = 30) -> None:
    """The ledger has every receipt once, with the same bytes as the answers, and its indexes have no gaps."""
    deadline = monotonic() + within_s
    while len(found := entries(url)) < len(receipts) and monotonic() < deadline:
        time.sleep(0.05)
    assert [index for index, _, _ in found] == list(range(len(receipts)))
    assert {receipt_id: leaf for _, receipt_id, leaf in found} == receipts


def test_a_ledger_that_accepts_and_never_answers(
    live_server_process: Callable[..., ServerProcess], postgres_url: str, proxy: Proxy
) -> None:
    through = re.sub(r":\d+/", f":{proxy.port}/", postgres_url)
    caller = Caller(live_server_process(LEDGER_DATABASE_URL=through))
    with closing(caller.connection):
        receipts = cycles(caller, 10)
        caught_up(postgres_url, receipts)
        proxy.mode = HANG
        receipts |= cycles(caller, 10)
        proxy.drop()  # new connections are accepted, and get no answer
        receipts |= cycles(caller, 10)
        assert len(entries(postgres_url)) == 20
        proxy.mode = PASS
        proxy.drop()
        caught_up(postgres_url, receipts)


def test_the_server_starts_without_its_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(alias: str) -> Any:
        def loader(connection: Any) -> Any:
            if connection is not None and connection.alias == alias:
                raise OperationalError("planted")
            return real(connection)

        return loader

    real = usable.MigrationLoader
    monkeypatch.setattr("intramedial.databases.distinct_aliases", lambda: ["default", "leases", "ledger"])
    monkeypatch.setattr(usable, "MigrationLoader", away("ledger"))
    serve.check_migrated()
    monkeypatch.setattr(usable, "MigrationLoader", away("leases"))
    with pytest.raises(CommandError, match="leases"):
        serve.check_migrated()
    connections.close_all()
