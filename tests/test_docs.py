"""The README and docs/ are true: their settings, commands, samples and paths are those of the code."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from intramedial.settings_table import TABLE
from tests.server import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def section(title: str, text: str = README) -> str:
    """The text under one heading."""
    return re.split(r"^## ", text.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def rows(text: str) -> list[str]:
    """The rows of a table, without its head."""
    return [line for line in text.splitlines() if line.startswith(("| ", "|`"))][1:]


def code_blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_settings_table_is_the_one_in_the_code():
    expected = [
        f"| `{setting.name}` | {setting.default and f'`{setting.default}`'} | {setting.doc} |"
        for setting in TABLE
    ]
    assert rows((ROOT / "docs" / "settings.md").read_text("utf-8")) == [
        re.sub(r"\|  \|", "| |", row) for row in expected
    ]


def test_the_commands_are_those_of_the_code():
    ours = {name for name, app in get_commands().items() if app in ("intramedial", "coordination")} - {
        "runserver"
    }
    commands = section("Commands", (ROOT / "docs" / "operations.md").read_text("utf-8"))
    documented = re.findall(r"^\| `(\w+)(?: ([a-z]+))?[^`]*` \|", commands, flags=re.MULTILINE)
    assert {noun for noun, _ in documented} == ours
    for noun, action in documented:
        words = load_command_class(get_commands()[noun], noun).create_parser("manage.py", noun).format_help()
        assert action in words
        assert "--json" in words or action


@pytest.mark.parametrize("command", re.findall(r"^make ([\w-]+)", README, flags=re.MULTILINE))
def test_a_target_of_the_makefile_exists(command):
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def test_the_map_names_what_exists():
    block, _path = code_blocks(section("How it is built"), "")
    folder, missing = "", []
    for line in block.splitlines():
        names = re.match(r" *((?:[\w.]+/? ?)+)  ", line)[1].split()
        if not line.startswith(" "):
            folder = names[0]
        for name in names:
            path = ROOT / name if not line.startswith(" ") else ROOT / folder / name
            if not path.exists():
                missing.append(str(path))
    assert missing == []


def test_the_path_of_a_request_names_what_exists():
    _map, path = code_blocks(section("How it is built"), "")
    names = [line.split()[0] for line in path.splitlines()]
    assert len(set(names)) == len(names) <= 30
    assert [name for name in names if not (ROOT / name).is_file()] == []


def samples(block: str) -> list[tuple[str, str]]:
    """Each command of a block with the answer that follows it."""
    found = []
    for line in block.splitlines():
        if line.startswith("#> "):
            command, _ = found.pop()
            found.append((command, line.removeprefix("#> ")))
        elif line and not line.startswith("#"):
            found.append((line, ""))
    return found


def matches(expected: str, answer: str) -> bool:
    """Whether an answer is the shown one; `…` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    shown = json.dumps(json.loads(answer), ensure_ascii=False)
    return re.fullmatch(pattern, shown) is not None


def test_the_samples_have_the_shown_answers(live_server_process):
    server = live_server_process()
    (block,) = code_blocks(section("In thirty seconds"), "sh")
    assignments = []
    for command, expected in samples(block.replace("http://127.0.0.1:8000", server.url)):
        if not expected:
            assignments.append(command.replace("imk_…", server.secrets["apiKey"]))
            continue
        script = "\n".join([*assignments, command])
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, timeout=30, env=os.environ
        )
        assert done.returncode == 0, done.stderr
        assert matches(expected, done.stdout), f"{command}\n{expected}\n{done.stdout}"


def test_the_commands_of_the_makefile_are_programs_that_exist():
    for script in (ROOT / ".ci").iterdir():
        assert os.access(script, os.X_OK), script
    assert Path(ROOT / ".ci/run").read_text().rstrip().endswith("exec make test")
