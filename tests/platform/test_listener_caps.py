"""With too many connections or too few descriptors, connections of tenants go on."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform.listening import (
    Client,
    ask,
    bearer,
    board,
    frame,
    get,
    handshake,
    leased,
    refused,
    serving,
    unread,
)
from tests.server import ServerProcess

MOST, OF_ADDRESS = 40, 30


@pytest.fixture
def server(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    env = {"INTRAMEDIAL_CONNECTIONS": str(MOST), "INTRAMEDIAL_ADDRESS_CONNECTIONS": str(OF_ADDRESS)}
    with serving(bootstrapped, tmp_path / "data", **env) as running:
        yield running


def test_a_used_connection_survives_any_number_of_silent_ones(server: ServerProcess) -> None:
    """All come from one address. The silent connections are closed for one another, the oldest first."""
    tenant = [Client(server, ask(server, resource=f"lock:{number}")) for number in range(5)]
    assert [client.answer()[0] for client in tenant] == [200] * 5
    silent = []
    for number in range(200):
        silent.append(Client(server))
        if number % 20 == 0:
            leased(server)  # a new connection is admitted too
            for at, client in enumerate(tenant):
                client.send(ask(server, resource=f"lock:{at}"))
                assert client.answer()[0] == 200
    assert silent[0].ends(1) < 1
    assert "INTRAMEDIAL_ADDRESS_CONNECTIONS raises it" in server.log


def test_a_connection_with_a_credential_outlasts_those_without(server: ServerProcess) -> None:
    """It stays although the other connections were used later."""
    tenant = Client(server, ask(server))
    assert tenant.answer()[0] == 200
    for _ in range(2):
        for _ in range(OF_ADDRESS + 20):
            stranger = Client(server, get(fields=b"Authorization: Bearer imk_nonsense\r\n"))
            assert stranger.answer()[0] == 200
        tenant.send(ask(server))
        assert tenant.answer()[0] == 200


def test_admitted_live_sockets_do_not_count(bootstrapped: Path, tmp_path: Path) -> None:
    with serving(bootstrapped, tmp_path / "data", INTRAMEDIAL_ADDRESS_CONNECTIONS="3") as server:
        watching: list[Client] = []
        for _ in range(10):
            watching.append(Client(server, handshake(board(server), bearer(server))))
            watching[-1].until(b"snapshot")
        leased(server)
        for client in watching:
            client.received = b""
            client.send(frame(0x9, b"alive"))
            client.until(b"\x8a\x05alive")


def test_when_all_connections_are_busy_a_new_one_is_refused_at_once(
    bootstrapped: Path, tmp_path: Path
) -> None:
    """Connections that do not read their answers are busy."""
    with serving(bootstrapped, tmp_path / "data", INTRAMEDIAL_ADDRESS_CONNECTIONS="3") as server:
        for _ in range(3):
            unread(server, get("/openapi.json") * 400)
        deadline = time.monotonic() + 20
        while True:
            newcomer = Client(server, get())
            answer = newcomer.answer()
            if answer[0] == 503:
                break
            newcomer.close()
            assert time.monotonic() < deadline
        refused(answer, 503, "authority_unavailable")
        assert answer[1]["retry-after"] == "1"
        newcomer.ends(5)


def test_refused_live_sockets_make_room(server: ServerProcess) -> None:
    """They stay for a second so that clients can read the reason, and must not keep other connections out."""
    refused_ones = [Client(server, handshake(board(server), b"Cookie: a=b\r\n")) for _ in range(OF_ADDRESS)]
    for client in refused_ones:
        client.until((4401).to_bytes(2, "big"))
    leased(server)


def test_a_trusted_proxy_may_have_more(bootstrapped: Path, tmp_path: Path) -> None:
    env = {"INTRAMEDIAL_ADDRESS_CONNECTIONS": "3", "INTRAMEDIAL_TRUSTED_PROXIES": "127.0.0.1"}
    with serving(bootstrapped, tmp_path / "data", **env) as server:
        clients = [Client(server) for _ in range(20)]
        for client in clients:
            client.send(get())
        assert [client.answer()[0] for client in clients] == [200] * 20


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", b"nonsense\r\n\r\n"])
def test_with_256_descriptors_neither_leases_nor_health_checks_end(
    bootstrapped: Path, tmp_path: Path, sent: bytes
) -> None:
    with serving(bootstrapped, tmp_path / "data", descriptors=256) as server:
        tenant = Client(server, ask(server))
        assert tenant.answer()[0] == 200
        live = Client(server, handshake(board(server), bearer(server)))
        live.until(b"101 Switching Protocols")
        for number in range(600):
            Client(server, sent)
            if number % 100 == 99:
                leased(server)
                assert server.ready()
                tenant.send(ask(server))
                assert tenant.answer()[0] == 200
        assert "Too many open files" not in server.log
        assert "unable to open database file" not in server.log


def test_the_soft_limit_of_open_files_is_raised(server: ServerProcess) -> None:
    assert server.process is not None
    for line in Path(f"/proc/{server.process.pid}/limits").read_text().splitlines():
        if line.startswith("Max open files"):
            soft, hard = line.split()[3:5]
            assert soft == hard
            return
    raise AssertionError("no limit of open files is known")
