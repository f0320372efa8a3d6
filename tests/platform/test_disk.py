"""A disk that fills up: the ledger and trials stop first, and leases go on."""

import contextlib
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from intramedial.databases import disk
from tests.server import ServerProcess
from tests.signing import Agent

MB = 1 << 20
BLOCK = 4096
LEASE = "/api/v1/acp/coordination/lease"
RELEASE = "/api/v1/acp/coordination/release"
STAMPEDE = "/api/v1/acp/coordination/scenarios/stampede"
KEYS = "/api/v1/trial/keys"


class Gauge:
    """A disk whose size and free space the test sets, in MB. `looked` counts how often they were read."""

    def __init__(self, total: int, free: int) -> None:
        self.total, self.free, self.looked, self.now = total, free, 0, 0.0

    def __call__(self, path: Path) -> Any:
        self.looked += 1
        blocks = SimpleNamespace(f_frsize=BLOCK, f_blocks=self.total * MB // BLOCK)
        blocks.f_bavail = self.free * MB // BLOCK
        return blocks

    def disk(self, directory: Path, reserve: int) -> disk.Disk:
        return disk.Disk(directory, reserve * MB, clock=lambda: self.now, statvfs=self)


def test_a_disk_is_low_below_the_reserve_and_read_once_a_second(tmp_path):
    gauge = Gauge(total=10_000, free=256)
    found = gauge.disk(tmp_path, 256)
    assert [found.low() for _ in range(100)] == [False] * 100
    assert gauge.looked == 1
    gauge.free = 255
    gauge.now = 0.9
    assert not found.low()
    gauge.now = 1.0
    assert found.low()
    assert gauge.looked == 2
    gauge.now, gauge.free = 2.0, 5_000
    assert not found.low()


def test_the_reserve_of_a_small_disk_is_a_quarter(tmp_path):
    """With the whole reserve, its ledger would never take an entry."""
    gauge = Gauge(total=100, free=26)
    found = gauge.disk(tmp_path, 256)
    assert not found.low()
    assert found.reserve == 25 * MB
    gauge.now, gauge.free = 1.0, 24
    assert found.low()


def test_the_reserve_file_is_deleted_when_no_other_space_is_left(tmp_path):
    gauge = Gauge(total=1_000, free=500)
    found, aside = gauge.disk(tmp_path, 64), tmp_path / "leases.reserve"
    found.look()
    assert aside.stat().st_size == 8 * MB
    assert aside.stat().st_blocks * 512 >= 8 * MB, "the reserve has no blocks on the disk"
    assert aside.stat().st_mode & 0o777 == 0o600
    gauge.free = 9
    found.look()
    assert aside.exists(), "the reserve is gone although there is space"
    gauge.free = 7
    found.look()
    assert not aside.exists()
    gauge.free = 70
    found.look()
    assert not aside.exists(), "the reserve is back although there is little space"
    gauge.free = 100
    found.look()
    assert aside.exists()


def test_a_disk_that_cannot_be_read_is_not_low(tmp_path):
    def fail(path: Path) -> Any:
        raise OSError("planted")

    assert not disk.Disk(tmp_path, MB, statvfs=fail).low()


# --- a real disk ---------------------------------------------------------------------------------


def answer(server: ServerProcess, path: str, body: dict[str, Any], agent: Agent | None = None) -> Any:
    """Status and JSON of a call with the workspace's key, or signed by an agent."""
    content = json.dumps(body).encode()
    fields = {"content-type": "application/json"}
    if agent is None:
        fields["authorization"] = f"Bearer {server.secrets['apiKey']}"
    else:
        fields |= agent.sign("POST", server.url + path, content, headers=fields)
    request = urllib.request.Request(server.url + path, content, fields)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.loads(response.read().splitlines()[-1])
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def cycle(server: ServerProcess, number: int) -> tuple[int, int]:
    body = {"resource": f"lock:{number}", "actorDid": "did:web:agent.example"}
    return answer(server, LEASE, body)[0], answer(server, RELEASE, body)[0]


def parts(server: ServerProcess) -> dict[str, str]:
    try:
        with urllib.request.urlopen(f"{server.url}/health/ready", timeout=10) as response:
            return json.load(response)["parts"]
    except urllib.error.HTTPError as error:
        return json.load(error)["parts"]


def until(true: Callable[[], object], server: ServerProcess, within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, server.log[-3000:]
        time.sleep(0.05)


@pytest.fixture
def small(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server on a private disk of 48 MB, which the test fills. Only root can mount the disk."""
    assert os.geteuid() == 0, "this test mounts a tmpfs: run it as root"
    mounted = tmp_path / "disk"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", mounted], check=True)
    server = ServerProcess(Path(shutil.copytree(bootstrapped, mounted / "data")), {})
    try:
        yield server.start()
    finally:
        server.kill()
        subprocess.run(["umount", "-l", mounted], check=True)


def fill(server: ServerProcess, leave_mb: float) -> Path:
    """Fill the disk so that `leave_mb` MB are free."""
    found = os.statvfs(server.data_dir)
    size = int(found.f_bavail * found.f_frsize - leave_mb * MB)
    filler = server.data_dir / f"filler-{leave_mb}"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    return filler


def test_leases_go_on_when_the_ledger_and_trials_stop(small: ServerProcess) -> None:
    agent = Agent()
    assert answer(small, KEYS, {"did": agent.did}, agent)[0] == 201
    assert cycle(small, 0) == (200, 200)
    filler = fill(small, 10)  # less than the reserve of 12 MB
    until(lambda: "is nearly full" in small.log, small)
    assert cycle(small, 1) == (200, 200)
    until(lambda: parts(small) == {"authority": "ok", "accounts": "ok", "ledger": "failed"}, small)

    stranger = Agent()
    for status, problem in (
        answer(small, KEYS, {"did": stranger.did}, stranger),
        answer(small, STAMPEDE, {"resource": "file:a"}, agent),
    ):
        assert (status, problem["reason"]) == (503, "authority_unavailable")
        assert "nearly full" in problem["detail"]
    body = {"resource": "lock:trial", "actorDid": agent.did}
    assert answer(small, LEASE, body, agent)[0] == 200, "a trial in force was refused"

    filler.unlink()
    until(lambda: parts(small)["ledger"] == "ok", small)
    assert answer(small, KEYS, {"did": stranger.did}, stranger)[0] == 201


def test_leases_go_on_when_others_fill_the_disk(small: ServerProcess) -> None:
    """The reserve for leases is freed, so leases are still granted and released."""
    aside = small.data_dir / "leases.reserve"
    until(aside.exists, small)
    filler = fill(small, 0)
    with contextlib.suppress(OSError), (small.data_dir / "more").open("wb") as more:
        while True:
            more.write(b"x" * BLOCK)
            more.flush()
    until(lambda: not aside.exists(), small)
    assert [cycle(small, number) for number in range(300)] == [(200, 200)] * 300
    filler.unlink()
    (small.data_dir / "more").unlink()
    until(lambda: parts(small) == {"authority": "ok", "accounts": "ok", "ledger": "ok"}, small)
    until(aside.exists, small)
