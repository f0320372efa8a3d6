"""A server process as an operator runs it: real expiry, real connections, `kill -9`."""

import json
import socket
import sqlite3
import time

import httpx
import psycopg
import pytest

from tests.api.client import LEASE, WAIT, did

A, B = did("a"), did("b")
PATIENCE_S = 30


@pytest.fixture
def start(request, live_server_process):
    """`start(**env)`: a server over a new database of the kind of this run."""
    if request.config.getoption("database") == "sqlite":
        return live_server_process
    url = request.getfixturevalue("postgres_url")
    return lambda **env: live_server_process(DATABASE_URL=url, **env)


def leases(server):
    """How many leases there are, by the authority's table and not by the service."""
    url = server.env.get("DATABASE_URL")
    path = f"file:{server.data_dir / 'leases.sqlite3'}?mode=ro"
    connection = psycopg.connect(url) if url else sqlite3.connect(path, uri=True)
    try:
        return len(connection.execute("SELECT * FROM lease_lease").fetchall())
    finally:
        connection.close()


def client(server, **options):
    headers = {"authorization": f"Bearer {server.secrets['apiKey']}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE_S, **options)


def ask(api, resource, agent):
    return api.post(LEASE, json={"resource": resource, "actorDid": agent})


def until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_lease_of_a_crashed_holder_is_reclaimed(start):
    """No request comes meanwhile: the test looks for the lease in the table, not through the service."""
    # Long enough for B to be answered while A has it.
    server = start(INTRAMEDIAL_LEASE_TTL_MS="2000", INTRAMEDIAL_OFFER_MS="10000")
    with client(server) as api:
        assert ask(api, "lock:a", A).status_code == 200
        assert ask(api, "lock:a", B).json()["position"] == 1
        until(lambda: leases(server) == 0)
        trust = api.get("/api/v1/acp/agents", params={"did": A}).json()["trust"]
        assert trust == {"score": 45.0, "releases": 0, "expiries": 1}
        (wait,) = api.get(WAIT).json()["queue"]
        assert (wait["actorDid"], "offeredUntil" in wait) == (B, True)
        assert ask(api, "lock:a", B).json()["lease"]["fencingToken"] == 2


def test_after_kill_9_leases_are_held_and_tokens_go_on(start):
    server = start()
    with client(server) as api:
        first = ask(api, "lock:a", A).json()["lease"]
        ask(api, "lock:b", A)
        released = api.post("/api/v1/acp/coordination/release", json={"resource": "lock:b", "actorDid": A})
        assert released.status_code == 200
    server.kill()
    server.start()
    with client(server) as api:
        assert ask(api, "lock:a", B).json()["holder"] == A
        again = ask(api, "lock:a", A).json()["lease"]
        assert (again["leaseId"], again["fencingToken"]) == (first["leaseId"], 1)
        assert ask(api, "lock:b", B).json()["lease"]["fencingToken"] == 2


def test_connections_stay_open_and_requests_are_logged(start):
    server = start(INTRAMEDIAL_LOG_LEVEL="INFO")
    with client(server) as api:
        answer = ask(api, "lock:a", A)
        assert answer.status_code == 200
        identifier = answer.headers["x-request-id"]
        until(lambda: identifier in server.log)
        (line,) = [json.loads(line) for line in server.log.splitlines() if identifier in line]
        assert (line["method"], line["path"], line["status"]) == ("POST", LEASE, 200)
        # All errors but one leave the connection open.
        kept = api.get(WAIT).extensions["network_stream"].get_extra_info("client_addr")
        for response in (
            api.post(LEASE, content=b"{", headers={"content-type": "application/json"}),
            api.post(LEASE, content=b"x", headers={"content-type": "text/plain"}),
            api.get("/api/none"),
            api.head(WAIT),
            api.request("OPTIONS", LEASE),
        ):
            assert response.extensions["network_stream"].get_extra_info("client_addr") == kept
        large = api.post(LEASE, content=b"x" * 20_000)
        assert (large.status_code, large.headers["connection"]) == (413, "close")
    assert server.secrets["apiKey"] not in server.log


def test_an_endless_body_is_cut_off(start):
    server = start()
    chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as stream:
        head = f"POST {LEASE} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        stream.sendall(head.encode())
        answer = b""
        stream.settimeout(0.05)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                stream.sendall(chunk)
                part = stream.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                break
            if not part:
                break
            answer += part
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"connection: close" in answer
    with client(server) as api:
        assert api.get(WAIT).status_code == 200
