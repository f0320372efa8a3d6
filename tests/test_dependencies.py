"""What the project depends on: declared, locked, and looked at when an upgrade changes what we build on."""

import ast
import hashlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path

from tests.server import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
DEVELOPMENT: list[str] = PROJECT["dependency-groups"]["dev"]
OURS = {"coordination", "intramedial", "tests", "manage", "proof"}

RELIED_ON = {
    "intramedial/bounded.py and intramedial/one_write.py": {
        "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol": "18fdf324b11b",
        "httptools:HttpRequestParser": "796fa74f4a71",
    },
    "intramedial/whole.py": {
        "uvicorn.protocols.http.httptools_impl:RequestResponseCycle": "e67d470d435d",
        "uvicorn.protocols.http.httptools_impl:_get_status_line": "d7012e110d2d",
    },
    "intramedial/transports.py": {"uvicorn.protocols.http.flow_control:FlowControl": "126debcdaa89"},
    "intramedial/sockets.py": {
        "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol": "0bbcec989384",
        "websockets.protocol:Protocol": "7308e632faa1",
        "websockets.server:ServerProtocol": "0f586bb7c48f",
        "websockets.extensions.permessage_deflate:PerMessageDeflate": "9248004475f4",
    },
    "intramedial/management/commands/serve.py": {"uvicorn.server:Server": "06e799f7c58f"},
    "intramedial/accounts/forms.py": {"allauth.account.forms:LoginForm._clean_with_password": "b4414032bdf8"},
    "intramedial/accounts/entrance.py": {
        "allauth.account.views:PasswordResetFromKeyView.dispatch": "e3d07963f7af"
    },
    "intramedial/accounts/tries.py": {"allauth.core.internal.ratelimit:clear": "e3b504aa0a33"},
    "intramedial/routes.py": {
        "ninja.main:NinjaAPI._get_bound_routers": "d55223d3dd17",
        "ninja.operation:Operation.__init__": "e7786461d9e9",
    },
}
"""Parts of other people's code that their documentation does not promise to keep, by our files that subclass,
override or call them, each with the digest of its source."""

WRAPPED = {"django-allauth", "django-ninja", "uvicorn", "websockets"}
"""Distributions of which private parts are overridden or called: pinned exactly."""
BOUNDED = {"httptools", "mcp", "mcp-types"}
"""Distributions whose next minor version may change what we rely on."""


def name_of(requirement: str) -> str:
    """The normalized name of the distribution that a requirement names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def imported(files: Iterator[Path]) -> Iterator[tuple[str, str]]:
    """Every file with each top-level module of other people that it imports."""
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            else:
                continue
            for name in {name.split(".")[0] for name in names} - OURS - sys.stdlib_module_names:
                yield file.relative_to(ROOT).as_posix(), name


def undeclared(requirements: list[str], *folders: str) -> list[str]:
    """The imports in `folders` of what none of `requirements` names."""
    declared = {name_of(requirement) for requirement in requirements}
    of_module = packages_distributions()
    files = (file for folder in folders for file in sorted((ROOT / folder).rglob("*.py")))
    return [
        f"{file} imports {module}"
        for file, module in imported(files)
        if not declared & {name_of(distribution) for distribution in of_module.get(module, ())}
    ]


def test_what_is_imported_is_declared() -> None:
    assert undeclared(RUNTIME, "coordination", "intramedial") == []
    assert undeclared(RUNTIME + DEVELOPMENT, "tests") == []


def locked(name: str) -> dict[str, str]:
    """The versions of a lock file, by the name of the distribution with its marker."""
    lines = re.findall(r"^([\w.-]+)==(\S+)(.*?) \\$", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE)
    return {f"{distribution}{marker}": version for distribution, version, marker in lines}


def test_the_locks_name_every_dependency_and_agree() -> None:
    runtime, development = locked("requirements.lock"), locked("requirements-dev.lock")
    assert {name_of(requirement) for requirement in RUNTIME} <= {key.split(" ")[0] for key in runtime}
    assert {name_of(requirement) for requirement in DEVELOPMENT} <= {key.split(" ")[0] for key in development}
    assert runtime.items() <= development.items()
    assert {"pytest", "mypy", "ruff", "uv"}.isdisjoint(runtime)


def test_what_is_wrapped_is_pinned() -> None:
    of_name = {name_of(requirement): requirement for requirement in RUNTIME}
    loose = {name for name in WRAPPED if f"=={version(name)}" not in of_name[name]}
    assert loose == set(), "pin these to the version that is installed, since we wrap private parts of them"
    assert [name for name in BOUNDED if "<" not in of_name[name]] == []


def digest(path: str) -> str:
    """The digest of a part's source; of one that is compiled, of its public names."""
    module, _, names = path.partition(":")
    part = import_module(module)
    for name in names.split("."):
        part = getattr(part, name)
    try:
        source = inspect.getsource(part)
    except (OSError, TypeError):
        source = " ".join(name for name in dir(part) if not name.startswith("__"))
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def test_private_parts_are_as_they_were_when_we_built_on_them() -> None:
    """When this fails after an upgrade: read what changed in the part that is named, then our file, run its
    tests, and write the new digest into `RELIED_ON`."""
    changed = [
        f"{part} has changed, on which {ours} is built: read both, then write {found!r} into RELIED_ON"
        for ours, parts in RELIED_ON.items()
        for part, known in parts.items()
        if (found := digest(part)) != known
    ]
    assert changed == []
    assert [ours for ours in RELIED_ON for file in ours.split(" and ") if not (ROOT / file).exists()] == []


SERVED = """
import django, sys, uvicorn
django.setup()
from intramedial.management.commands import serve

def load_and_end(server, sockets):
    server.config.load()
    server.should_exit = True

uvicorn.Server.run = load_and_end
with serve.bind("127.0.0.1", 0) as listener:
    serve.run(listener, print)
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_a_server_loads_neither_daphne_nor_twisted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVED], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert {"uvicorn", "channels", "intramedial", "coordination"} <= loaded
    assert loaded.isdisjoint({"daphne", "twisted", "autobahn"})
