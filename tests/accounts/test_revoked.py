"""A revoked beta password ends its sessions within five seconds: pages and live sockets of a server."""

import re
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.server import manage

WITHIN_S = 5.0
REVOKE = (
    "from django.utils import timezone; from intramedial.accounts.models import BetaPassword; "
    "print(BetaPassword.objects.update(revoked_at=timezone.now()))"
)


def test_pages_and_sockets_end_within_five_seconds(live_server_process):
    server = live_server_process()
    secrets = server.secrets
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        form = browser.get("/acceso/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[1]
        answer = browser.post(
            "/acceso/",
            data={
                "login": secrets["adminEmail"],
                "password": secrets["adminPassword"],
                "beta_password": secrets["betaPassword"],
                "csrfmiddlewaretoken": token,
            },
            headers={"referer": f"{server.url}/acceso/"},
        )
        assert answer.status_code == 302, answer.text
        page = f"/espacios/{secrets['workspace']}/"
        assert browser.get(page).status_code == 200
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        with connect(
            f"ws://127.0.0.1:{server.port}/ws/espacios/{secrets['workspace']}/",
            additional_headers={"Cookie": cookies, "Origin": server.url},
        ) as socket:
            assert "snapshot" in socket.recv(timeout=10)
            manage("shell", "-c", REVOKE, env=server.env)
            revoked_at = time.monotonic()
            assert browser.get(page).status_code in (302, 404)
            assert browser.get("/cuenta/").headers["location"].startswith("/acceso/")
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    socket.recv(timeout=2 * WITHIN_S)
            assert time.monotonic() - revoked_at < WITHIN_S
            assert closed.value.rcvd.code == 4401
