"""The client keeps to its conversations: in order, to the end of each cycle, and no further than a fault."""

import socket
from collections import Counter
from collections.abc import Iterator
from threading import Thread

import pytest

from tests.bench.load import Connection, Step, run
from tests.bench.speech import Fault, http_reply, post


class Server:
    """Answers each request with the request's path, in two pieces; `requests` counts the paths."""

    def __init__(self) -> None:
        self.requests: Counter[bytes] = Counter()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while request := connection.recv(4096):
                path = request.split(b" ")[1]
                self.requests[path] += 1
                status = b"500 No" if path == b"/fails" else b"200 OK"
                connection.sendall(b"HTTP/1.1 %s\r\ncontent-length: %d\r\n" % (status, len(path)))
                connection.sendall(b"\r\n" + path)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server for one test."""
    started = Server()
    yield started
    started.listener.close()


def test_every_cycle_is_finished_and_only_whole_ones_count(server):
    steps = [Step("one", post("/one", {})), Step("two", lambda before: post("/two" + before.decode(), {}))]
    sample = run([Connection(server.port, steps, http_reply) for _ in range(3)], 0.0, 0.05)
    assert set(server.requests) == {b"/one", b"/two/one"}
    assert server.requests[b"/one"] == server.requests[b"/two/one"] > 0
    assert sample.requests == sum(len(measured) for measured in sample.latencies.values())
    assert 0 < sample.cycles <= server.requests[b"/two/one"]


def test_what_comes_before_the_measurement_does_not_count(server):
    sample = run([Connection(server.port, [Step("one", post("/one", {}))], http_reply)], 0.05, 0.0)
    assert sample.requests == 0 < server.requests[b"/one"]


def test_an_answer_that_was_not_expected_ends_the_run(server):
    steps = [Step("one", post("/one", {})), Step("fails", post("/fails", {}))]
    with pytest.raises(Fault, match="fails: 500 b'/fails'"):
        run([Connection(server.port, steps, http_reply)], 0.0, 5.0)
