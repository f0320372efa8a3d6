"""The documents for contributors are true: one version everywhere; links, commands, decisions and words
exist."""

import re
import tomllib
from pathlib import Path

from babel.messages.pofile import read_po

from intramedial import __version__
from intramedial.api import api
from tests.messages import PO
from tests.server import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")])
ADRS = sorted((ROOT / "docs" / "adr").glob("0*.md"))


def test_the_version_is_defined_in_one_place() -> None:
    """`tests/mcp/test_tools.py` checks the version that MCP clients get."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "intramedial.__version__"}
    assert api.get_openapi_schema(path_prefix="")["info"]["version"] == __version__
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", _text("CHANGELOG.md"), re.MULTILINE)
    assert released[0] == __version__


def _text(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def test_links_lead_to_files() -> None:
    broken = [
        f"{document.relative_to(ROOT)} links to {target}"
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text("utf-8"))
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert broken == []


def test_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", _text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", _text("CONTRIBUTING.md"), re.MULTILINE))
    assert {"run", "test", "check"} <= named <= targets
    hooks = re.findall(r"entry: (\S+)", _text(".pre-commit-config.yaml"))
    assert len(hooks) > 3
    assert [hook for hook in hooks if not (ROOT / hook).exists()] == []


def test_the_list_of_decisions_is_complete() -> None:
    """Title, date and status of each page are those of the list."""
    listed = re.findall(
        r"^\| \[(\d+)\]\((\S+)\) \| (.+) \| ([\d-]+) \| (.+) \|$", _text("docs/adr/README.md"), re.MULTILINE
    )
    found = []
    for file in ADRS:
        head = re.match(r"# (\d+)\. (.+)\n\n([\d-]+) · (.+?) · commits? `", file.read_text("utf-8"))
        assert head, f"{file.name} does not begin with its title, date, status and commit"
        number, title, date, status = head.groups()
        found.append((number, file.name, title, date, status))
    assert found == listed
    for file in ADRS:
        sections = re.findall(r"^## (.+)$", file.read_text("utf-8"), re.MULTILINE)
        assert sections == ["Context", "Decision", "Consequences"], file.name


def _spanish(document: Path) -> list[str]:
    """The Spanish terms of the glossary's tables."""
    tables = re.split(r"^\| English \| Spanish \|.*$", document.read_text("utf-8"), flags=re.MULTILINE)[1:]
    rows = [
        row
        for table in tables
        for row in re.findall(r"^\| [^|]+ \| ([^|]+) \|", table.split("\n\n")[0], re.M)
    ]
    return [term for term in rows if term != "—"]


def test_the_glossary_has_the_words_of_the_pages() -> None:
    with PO.open("rb") as file:
        catalogue = read_po(file)
    texts = [
        text
        for message in catalogue
        for text in (message.id if isinstance(message.id, tuple) else [message.id])
    ]
    pages = "\n".join(texts).lower()
    terms = _spanish(ROOT / "docs" / "glossary.md")
    assert len(terms) > 40
    assert [term for term in terms if not re.search(rf"\b{re.escape(term.lower())}", pages)] == []
