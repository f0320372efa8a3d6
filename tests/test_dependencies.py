"""Dependencies are declared and locked, and an upgrade that changes what we build on is noticed."""

import ast
import hashlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path

from tests.server import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
DEVELOPMENT: list[str] = PROJECT["dependency-groups"]["dev"]
OURS = {"coordination", "intramedial", "tests", "manage", "proof"}

RELIED_ON = {
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol": "18fdf324b11b",
    "httptools:HttpRequestParser": "796fa74f4a71",
    "uvicorn.protocols.http.httptools_impl:RequestResponseCycle": "e67d470d435d",
    "uvicorn.protocols.http.httptools_impl:_get_status_line": "d7012e110d2d",
    "uvicorn.protocols.http.flow_control:FlowControl": "126debcdaa89",
    "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol": "0bbcec989384",
    "websockets.protocol:Protocol": "7308e632faa1",
    "websockets.server:ServerProtocol": "0f586bb7c48f",
    "websockets.extensions.permessage_deflate:PerMessageDeflate": "9248004475f4",
    "uvicorn:Server": "06e799f7c58f",
    "allauth.account.forms:LoginForm._clean_with_password": "b4414032bdf8",
    "allauth.account.views:PasswordResetFromKeyView.dispatch": "e3d07963f7af",
    "allauth.core.internal.ratelimit:clear": "e3b504aa0a33",
    "ninja:NinjaAPI._get_bound_routers": "d55223d3dd17",
    "ninja.operation:Operation.__init__": "e7786461d9e9",
}
"""Parts of dependencies that we subclass, override or call although their documentation does not promise
to keep them, each with the digest of its source."""

WRAPPED = {"django-allauth", "django-ninja", "uvicorn", "websockets"}
"""Distributions of which private parts are overridden or called: pinned exactly."""
BOUNDED = {"httptools", "mcp", "mcp-types"}
"""Distributions whose next minor version may change what we rely on."""


def name_of(requirement: str) -> str:
    """The normalized name of the distribution in a requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def python_files(*folders: str) -> list[Path]:
    """The Python files in these folders, in order."""
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]


def imported(file: Path) -> set[str]:
    """Every third-party module that a file imports. `from a import b` gives `a` and `a.b`."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] not in OURS | sys.stdlib_module_names}


def undeclared(requirements: list[str], *folders: str) -> list[str]:
    """The imports in `folders` that none of `requirements` provides."""
    declared = {name_of(requirement) for requirement in requirements}
    of_module = packages_distributions()
    return [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in python_files(*folders)
        for module in {name.split(".")[0] for name in imported(file)}
        if not declared & {name_of(distribution) for distribution in of_module.get(module, ())}
    ]


def users(part: str) -> list[str]:
    """Our files that import the module of a part; if there are none, the files that import its package."""
    module = part.split(":")[0]
    files = {file: imported(file) for file in python_files("coordination", "intramedial")}
    found = [file for file, names in files.items() if module in names] or [
        file
        for file, names in files.items()
        if module.split(".")[0] in {name.split(".")[0] for name in names}
    ]
    return [file.relative_to(ROOT).as_posix() for file in found]


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
    assert loose == set(), "pin these to the installed version, because we wrap private parts of them"
    assert [name for name in BOUNDED if "<" not in of_name[name]] == []


def digest(path: str) -> str:
    """The digest of a part's source; of a compiled part, of its public names."""
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
    """When this fails after an upgrade: read what changed in the named part, read our named files, run
    their tests, and write the new digest into `RELIED_ON`."""
    changed = [
        f"{part} has changed. Read it and {', '.join(users(part))}, then write {found!r} into RELIED_ON"
        for part, known in RELIED_ON.items()
        if (found := digest(part)) != known
    ]
    assert changed == []
    assert [part for part in RELIED_ON if not users(part)] == [], "we no longer build on these: remove them"


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
