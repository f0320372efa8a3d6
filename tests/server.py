"""A server of the product in its own process, as an operator runs it."""

import json
import os
import resource
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.launcher import Launcher, Started
from tests.services import free_port

ROOT = Path(__file__).resolve().parent.parent
READY_S = 120
launcher: Launcher | None = None
"""How tests start servers and commands: quickly. None: each as a program of its own, as an operator does."""


def command(*arguments: str, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run one management command to its end, in this environment and `env`."""
    arguments, env = ("manage.py", *arguments), {**os.environ, **env}
    if launcher is not None:
        return launcher.run(arguments, env, READY_S)
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=READY_S
    )


def manage(*arguments: str, env: dict[str, str]) -> str:
    """Run one management command to its end; returns its stdout, fails with its stderr."""
    done = command(*arguments, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bootstrap(data_dir: Path, env: dict[str, str]) -> Path:
    """Set up `data_dir` and the databases of `env`; the printed secrets are stored in its
    `bootstrap.json`."""
    given = {"DATABASE_URL": "", **env, "INTRAMEDIAL_DATA_DIR": str(data_dir)}
    (data_dir / "bootstrap.json").write_text(manage("bootstrap", "--json", env=given))
    return data_dir


class ServerProcess:
    """`manage.py serve` on a random port: `url` is its address, `data_dir` its own directory, `log` its
    output."""

    def __init__(self, data_dir: Path, env: dict[str, str]) -> None:
        self.data_dir = data_dir
        self.port = int(env.get("PORT", 0)) or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {
            "HOST": "127.0.0.1",
            "DATABASE_URL": "",
            **env,
            "PORT": str(self.port),
            "INTRAMEDIAL_DATA_DIR": str(data_dir),
        }
        self.descriptors = 0
        """The limit of open files, soft and hard; 0 leaves it as it is."""
        self.process: subprocess.Popen[bytes] | Started | None = None
        self.beside: subprocess.Popen[str] | None = (
            None  # works on the same data; ends when the server is killed
        )

    @property
    def secrets(self) -> dict[str, Any]:
        """What `bootstrap` printed: adminEmail, adminPassword, betaPassword, workspace, apiKey."""
        shown: dict[str, Any] = json.loads((self.data_dir / "bootstrap.json").read_text())
        return shown

    @property
    def log(self) -> str:
        """Everything that the server has written to stdout and stderr."""
        return (self.data_dir / "serve.log").read_text()

    def start(self) -> "ServerProcess":
        """Start the server (again) and wait until it is ready."""
        with (self.data_dir / "serve.log").open("ab") as log:
            env, out = {**os.environ, **self.env}, log.fileno()
            if launcher is not None:
                self.process = launcher.start(["manage.py", "serve"], env, out, out, self.descriptors)
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "manage.py", "serve"],
                    cwd=ROOT,
                    env=env,
                    stdout=log,
                    stderr=log,
                    preexec_fn=self._limit if self.descriptors else None,
                )
        deadline = time.monotonic() + READY_S
        while not self.ready():
            assert self.process.poll() is None, f"the server ended: {self.log}"
            assert time.monotonic() < deadline, f"the server is not ready: {self.log}"
            time.sleep(0.05)
        return self

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

    def ready(self) -> bool:
        """Whether the server can decide leases now."""
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.HTTPError):
            return False

    def manage(self, *arguments: str) -> Any:
        """Run a management command with `--json` on the same data and databases; returns its object."""
        return json.loads(manage(*arguments, "--json", env=self.env))

    def terminate(self) -> int:
        """Ask the server to stop and wait until it has; returns its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(READY_S)

    def kill(self) -> None:
        """`kill -9`, by process id."""
        if self.beside is not None:
            self.beside.communicate(timeout=READY_S)  # it ends with its input
        if self.process is not None:
            self.process.kill()
            self.process.wait(READY_S)
        (self.data_dir / "leases.reserve").unlink(missing_ok=True)  # megabytes that no test needs
