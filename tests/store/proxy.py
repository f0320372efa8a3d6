"""A connection to PostgreSQL that breaks when the test says so."""

import contextlib
import socket
import threading
from types import TracebackType

from tests.services import free_port

PASS = "pass"
LOSE_REQUESTS = "lose requests"  # what the client sends does not arrive, and the connection closes
# what the client sends is executed, and the connection closes without an answer
LOSE_ANSWERS = "lose answers"
HANG = "hang"  # nothing arrives any more, and neither side is notified


class Proxy:
    """A proxy on `port` before a TCP port of this machine. `mode` says what happens to the traffic."""

    def __init__(self, target: int) -> None:
        self.mode = PASS
        self.port = free_port()
        self._target = target
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", self.port))

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def drop(self) -> None:
        """Close all connections."""
        self._close(*self._sockets)
        self._sockets.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(self._listener)
        self.drop()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                for source, sink, losing in ((client, server, LOSE_REQUESTS), (server, client, LOSE_ANSWERS)):
                    threading.Thread(target=self._pump, args=(source, sink, losing), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, losing: str) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if self.mode == losing:
                    break
                if self.mode != HANG:
                    sink.sendall(data)
        self._close(source, sink)

    @staticmethod
    def _close(*sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
