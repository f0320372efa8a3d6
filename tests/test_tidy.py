"""The code keeps to its architecture: who imports whom, who reads a clock, how much a reader must hold.

Rules and exceptions are tables; an exception stands there with its reason. Style itself is ruff's.
"""

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from tests.architecture import MAY_IMPORT, MAY_READ_CLOCKS

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {".git", ".venv", "var", "node_modules", "dist", "__pycache__", "vendor"}
SKIPPED |= {".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}

LONGEST_FILE, LONGEST_FUNCTION = 300, 70
LONGER_FILES = {
    "tests/identity/test_signatures.py": "one way of forging a signature after the other",
}
LONGER_FUNCTIONS: dict[str, str] = {}

CLOCKS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
    | {"clock_gettime", "clock_gettime_ns"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "timezone": {"now"},
}


@cache
def files(*patterns: str) -> tuple[Path, ...]:
    """The project's files whose name matches, without what is generated or other people's."""
    found = []
    for directory, folders, names in os.walk(ROOT):
        folders[:] = sorted(set(folders) - SKIPPED)
        found += [Path(directory, name) for name in names if any(fnmatch(name, p) for p in patterns)]
    return tuple(sorted(found))


def name_of(file: Path) -> str:
    """The file's path from the project's root."""
    return file.relative_to(ROOT).as_posix()


@cache
def tree(file: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(file.read_text("utf-8"))


CODE = [file for file in files("*.py") if not name_of(file).startswith("tests/")]
PYTHON = files("*.py")


def imports(file: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it, by its absolute name."""
    package = name_of(file).removesuffix(".py").split("/")[:-1]
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            # `from coordination import store` is a module; `from coordination.store import Store` a member.
            # A member's longer name begins with its module's, so both can be held against the table.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(module: str, allowed: Iterable[str]) -> bool:
    """Whether `module` is one of `allowed` or inside one."""
    return any(module == name or module.startswith(name + ".") for name in allowed)


def rule(file: Path) -> tuple[str, ...]:
    """What the table lets a file import."""
    for pattern, allowed in MAY_IMPORT.items():
        if fnmatch(name_of(file), pattern):
            return allowed
    pytest.fail(f"{name_of(file)} is not in the import table: say there what it may import")


@pytest.mark.parametrize("file", CODE, ids=name_of)
def test_imports_go_one_way(file: Path) -> None:
    if file.name == "__init__.py" and not file.read_text("utf-8").strip():
        return
    allowed = rule(file)
    ours = [module for module in imports(file) if within(module, ("coordination", "intramedial", "tests"))]
    own_package = name_of(file).removesuffix(".py").replace("/", ".")
    assert [module for module in ours if not within(module, (*allowed, own_package))] == []


@pytest.mark.parametrize(
    "file", [file for file in CODE if "coordination/core/" in name_of(file)], ids=name_of
)
def test_the_core_is_pure(file: Path) -> None:
    outside = {"asyncio", "logging", "os", "random", "secrets", "socket", "threading", "time", "uuid"}
    for module in imports(file):
        top = module.split(".")[0]
        assert top == "coordination" or top in sys.stdlib_module_names - outside, module


def clock_reads(file: Path) -> Iterator[int]:
    """The lines on which a file names a clock."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Attribute):
            owner = (
                node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            )
            if node.attr in CLOCKS.get(owner, ()):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield node.lineno


@pytest.mark.parametrize("file", CODE, ids=name_of)
def test_clocks_are_read_where_the_table_says(file: Path) -> None:
    lines = list(clock_reads(file))
    if name_of(file) in MAY_READ_CLOCKS:
        assert lines, "reads no clock any more: take it off the table"
    elif "migrations" not in file.parts:
        assert lines == []


def functions(file: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file with its length in lines."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("file", [*PYTHON, *files("*.css", "*.js", "*.html")], ids=name_of)
def test_no_file_is_longer_than_a_reader_can_hold(file: Path) -> None:
    length = len(file.read_text("utf-8").splitlines())
    assert (length > LONGEST_FILE) == (name_of(file) in LONGER_FILES), f"{length} lines"


@pytest.mark.parametrize("file", PYTHON, ids=name_of)
def test_no_function_is_longer_than_a_reader_can_hold(file: Path) -> None:
    for function, length in functions(file):
        longer = f"{name_of(file)}:{function}" in LONGER_FUNCTIONS
        assert (length > LONGEST_FUNCTION) == longer, f"{function} has {length} lines"


def test_the_tables_name_files_that_exist() -> None:
    named = [*MAY_READ_CLOCKS, *LONGER_FILES, *(key.split(":")[0] for key in LONGER_FUNCTIONS)]
    assert [name for name in named if not (ROOT / name).is_file()] == []


NOT_TO_BE_READ = re.compile(
    r"\b(TODO|FIXME|XXX)\b"  # what is left to do belongs in an issue
    r"|type:\s*ignore"
    r"|(pypi|pythonhosted|npmjs)\.(org|com)"  # hosts of one machine's registries
    r"|(?<![\w.])/(home|root|Users|work)/"  # paths of one machine
)


@pytest.mark.parametrize(
    "file",
    files("*.py", "*.js", "*.css", "*.html", "*.md", "*.toml", "*.yaml", "*.lock", "Makefile"),
    ids=name_of,
)
def test_no_leftovers(file: Path) -> None:
    if file == Path(__file__):  # names them
        return
    lines = file.read_text("utf-8").splitlines()
    assert [(number, line) for number, line in enumerate(lines, 1) if NOT_TO_BE_READ.search(line)] == []


@pytest.mark.parametrize("file", [file for file in PYTHON if name_of(file).startswith("tests/")], ids=name_of)
def test_no_test_is_skipped_or_expected_to_fail(file: Path) -> None:
    marks = [node for node in ast.walk(tree(file)) if isinstance(node, ast.Attribute)]
    assert not [node.lineno for node in marks if node.attr in {"skip", "skipif", "xfail", "importorskip"}]
