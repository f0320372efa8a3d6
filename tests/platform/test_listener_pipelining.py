"""Pipelined requests are answered in order, one at a time, and are not kept in memory."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.machine import memory_mb
from tests.platform.listening import (
    LEASE,
    Client,
    ask,
    bearer,
    get,
    leased,
    post,
    serving,
    unread,
)
from tests.server import ServerProcess


@pytest.fixture(scope="module")
def server(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(bootstrapped, tmp_path_factory.mktemp("listener") / "data") as running:
        yield running


def test_pipelined_requests_are_answered_in_order(server: ServerProcess) -> None:
    """They have bodies of every kind, and are sent in pieces of several sizes."""
    body = b'{"resource": "lock:a", "actorDid": "did:example:a"}'
    chunked = post(LEASE, bearer(server) + b"Transfer-Encoding: chunked\r\n")
    requests = [
        (get(), 200),
        (ask(server), 200),
        (get("/api/none"), 404),
        (chunked + b"%x\r\n%b\r\n0\r\nx: y\r\n\r\n" % (len(body), body), 200),
        (ask(server, "release", fields=b"Connection: upgrade\r\nUpgrade: h2c\r\n"), 200),
        (get("/acceso/"), 302),
        (ask(server, "release"), 409),
    ] * 20
    everything = b"".join(request for request, _ in requests)
    for size in (len(everything), 4096, 700, 33):
        client = Client(server, *(everything[at : at + size] for at in range(0, len(everything), size)))
        statuses = [client.answer()[0] for _ in requests]
        expected = [status for _, status in requests]
        assert [s for s, e in zip(statuses, expected, strict=True) if s != e and e != 302] == []
        client.close()


def test_pipelined_requests_take_no_memory(server: ServerProcess) -> None:
    assert server.process is not None
    pid = server.process.pid
    leased(server)
    before = memory_mb([pid])
    streams = [unread(server, get() * 1000) for _ in range(40)]
    for _ in range(20):
        leased(server)
        for stream in streams:
            try:
                stream.send(get() * 1000)
            except (BlockingIOError, ConnectionError):
                continue
    assert memory_mb([pid]) - before < 40


def test_a_pipelined_request_waits_for_the_answer_to_the_one_before(server: ServerProcess) -> None:
    """After an acquire and a release in one write, the release is decided after the answer to the acquire."""
    client = Client(server, ask(server, resource="lock:p") + ask(server, "release", "lock:p"))
    assert [client.answer()[0], client.answer()[0]] == [200, 200]
    begun = time.monotonic()
    many = [ask(server, verb, "lock:p") for _ in range(100) for verb in ("lease", "release")]
    client.send(b"".join(many))
    assert [client.answer()[0] for _ in many] == [200] * 200
    assert time.monotonic() - begun < 60
