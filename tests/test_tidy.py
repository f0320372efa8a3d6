"""The code keeps to its architecture: the core is pure, and clocks are read only in the files of
`architecture.py`.

import-linter checks which room imports which, ruff the style, mypy the types (`make check`). Each test
here checks every file and lists all that it finds.
"""

import ast
import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests.architecture import MAY_READ_CLOCKS

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {".git", ".venv", "var", "node_modules", "dist", "__pycache__", "vendor"}
SKIPPED |= {".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}

LONGEST_FUNCTION = 70

CLOCKS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
    | {"clock_gettime", "clock_gettime_ns"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "timezone": {"now"},
}


@cache
def files(*patterns: str) -> tuple[Path, ...]:
    """The project's files whose name matches, without generated and third-party files."""
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
    """Every module that a file imports, anywhere in it, by its absolute name."""
    package = name_of(file).removesuffix(".py").split("/")[:-1]
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_the_core_is_pure() -> None:
    impure = {"asyncio", "logging", "os", "random", "secrets", "socket", "threading", "time", "uuid"}
    pure = {"coordination", *sys.stdlib_module_names} - impure
    core = [file for file in CODE if "coordination/core/" in name_of(file)]
    assert len(core) > 5
    found = [
        f"{name_of(file)} imports {module}"
        for file in core
        for module in imports(file)
        if module.split(".")[0] not in pure
    ]
    assert found == []


def test_programs_for_other_machines_import_nothing_of_the_server() -> None:
    found = [
        f"{name_of(file)} imports {module}"
        for file in CODE
        if name_of(file).startswith("static/")
        for module in imports(file)
        if module.split(".")[0] in {"coordination", "intramedial", "tests"}
    ]
    assert found == []


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


def test_clocks_are_read_where_the_table_says() -> None:
    readers = {
        name_of(file)
        for file in CODE
        if "migrations" not in file.parts and next(clock_reads(file), None) is not None
    }
    assert {"not on the table": readers - set(MAY_READ_CLOCKS)} == {"not on the table": set()}
    assert {"no longer read one": set(MAY_READ_CLOCKS) - readers} == {"no longer read one": set()}


def functions(file: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file with its length in lines."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_function_is_longer_than_the_limit() -> None:
    found = [
        f"{name_of(file)}: {function} has {length} lines"
        for file in PYTHON
        for function, length in functions(file)
        if length > LONGEST_FUNCTION
    ]
    assert found == []


LEFTOVERS = re.compile(
    r"\b(TODO|FIXME|XXX)\b"  # what is left to do belongs in an issue
    r"|type:\s*ignore"
    r"|(pypi|pythonhosted|npmjs)\.(org|com)"  # hosts of one machine's registries
    r"|(?<![\w.])/(home|root|Users|work)/"  # paths of one machine
)


def test_no_leftovers() -> None:
    texts = files("*.py", "*.js", "*.css", "*.html", "*.md", "*.toml", "*.yaml", "*.lock", "Makefile")
    found = [
        f"{name_of(file)}:{number}: {line.strip()}"
        for file in texts
        if file != Path(__file__)  # this file contains them
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if LEFTOVERS.search(line)
    ]
    assert found == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    marks = {"skip", "skipif", "xfail", "importorskip"}
    found = [
        f"{name_of(file)}:{node.lineno}"
        for file in PYTHON
        if name_of(file).startswith("tests/")
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Attribute) and node.attr in marks
    ]
    assert found == []
