"""Results as Markdown: the tables in docs/benchmarks.md and five lines in the README, between markers."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.server import ROOT

from . import plot
from .figures import shown

BEGIN, END = "<!-- bench: begin (python -m tests.bench report) -->", "<!-- bench: end -->"
PLOTS = ROOT / "static" / "img"

HOW = (
    "Each server alone on one core, the load on another; medians of {rounds} rounds in which everybody takes "
    "turns, runs of {seconds:g} s, lowest and highest in brackets. In every figure our answers are durable "
    "(fsync) before they are given and carry a signed receipt; etcd and Redis write as durably."
)
RATES = ("cycles_s", "refusals_s")


def markdown(document: dict[str, Any]) -> str:
    """The tables of one results file."""
    if "growth" in document:
        return "\n\n".join([*(_growth_table(part) for part in document["growth"]), _where(document)])
    parts = [HOW.format(rounds=document["rounds"], seconds=document["seconds"])]
    parts += [_rows_table(document["rows"]), _targets_table(document["targets"]), _where(document)]
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _spread(figures: dict[str, list[float]], name: str) -> str:
    if name not in figures:
        return ""
    median, low, high = figures[name]
    around = f" ({shown(low)} – {shown(high)})" if low != high else ""
    return shown(median) + around


def _rows_table(rows: Iterable[dict[str, Any]]) -> str:
    head = ("server", "asked", "requests/s", "cycles/s", "p50 ms", "p99 ms", "besides")
    return _table(head, [_row(row) for row in rows])


def _row(row: dict[str, Any]) -> list[str]:
    if "missing" in row:
        return [row["server"], row["what"], "", "", "", "", f"not measured: {row['missing']}"]
    figures = row["figures"]
    cycles = "" if row["key"].startswith("echo") else _spread(figures, "cycles_s")
    times = [_spread(figures, name) for name in ("p50_ms", "p99_ms")]
    besides = "; ".join(filter(None, (row.get("note"), _besides(figures))))
    return [row["server"], row["what"], _spread(figures, "requests_s"), cycles, *times, besides]


def _besides(figures: dict[str, list[float]]) -> str:
    parts = []
    if "refusals_s" in figures:
        parts.append(f"{_spread(figures, 'refusals_s')} refusals/s")
    if "commit_p50_ms" in figures:
        p50, p99 = (shown(figures[f"commit_{name}_ms"][0]) for name in ("p50", "p99"))
        parts.append(f"an SQLite commit {p50} / {p99} ms")
        p50, p99 = (shown(figures[f"fsync_{name}_ms"][0]) for name in ("p50", "p99"))
        parts.append(f"an fsync {p50} / {p99} ms")
    if "cost_percent" in figures:
        parts.append(f"{_spread(figures, 'cost_percent')} % less than unwatched")
        cpu = (shown(figures[name][0]) for name in ("cpu_percent", "unwatched_cpu_percent"))
        parts.append("{} % of a core for the events and the sockets alone, {} % unwatched".format(*cpu))
        parts.append(f"{shown(figures['memory_mb'][0])} MB")
    if figures.get("ledger_behind", [0])[0]:
        behind, after = figures["ledger_behind"][0], figures["ledger_catches_up_s"][0]
        parts.append(f"ledger {shown(behind)} receipts behind at the end, up to date {shown(after)} s later")
    return "; ".join(parts)


def _targets_table(targets: Iterable[dict[str, Any]]) -> str:
    return _table(("target", "must be", "is", ""), [_target(target) for target in targets])


def _target(target: dict[str, Any]) -> list[str]:
    unit = target["unit"]
    bound = f"{'≥' if target['least'] else '≤'} {target['bound']:g} {unit}"
    if "missing" in target:
        return [target["words"], bound, "", f"not measured: {target['missing']}"]
    median, low, high = target["reached"]
    met = median >= target["bound"] if target["least"] else median <= target["bound"]
    is_ = f"{shown(median)} {unit} ({shown(low)} – {shown(high)})"
    return [target["words"], bound, is_, "✓" if met else "✗"]


def _growth_table(part: dict[str, Any]) -> str:
    if "missing" in part:
        return f"**{part['title']}**: not measured: {part['missing']}"
    rows = [
        [shown(value) if isinstance(value, float) else str(value) for value in row] for row in part["rows"]
    ]
    return f"**{part['title']}**\n\n" + _table(part["head"], rows)


def _where(document: dict[str, Any]) -> str:
    machine = document["machine"]
    programs = ", ".join(f"{name} {number}" for name, number in machine["programs"].items())
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"{document['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memoryGb']} GB, "
        f"{machine['kernel']}, {machine['fileSystem']}, Python {machine['python']}, "
        f"SQLite {machine['sqlite']}, {programs}; {packages}."
    )


IN_SHORT = {
    "embedded.32": "embedded, 32 connections",
    "postgres.32": "PostgreSQL, 32 connections",
    "etcd.32": "etcd's lock over its HTTP gateway, 32 connections",
    "embedded.stampede": "embedded, 50 agents refused on one held resource",
    "embedded.alone": "embedded, one connection alone",
}
"""The rows in the README, by key."""


def in_short(document: dict[str, Any]) -> str:
    """The README's rows of a results file."""
    rows = {row["key"]: row for row in document["rows"]}
    chosen = [(words, rows[key].get("figures", {})) for key, words in IN_SHORT.items() if key in rows]
    return _table(
        ("", "requests/s", "lock and release, cycles/s", "p50 ms"),
        [
            [words, *(_median(figures, name) for name in ("requests_s", "cycles_s", "p50_ms"))]
            for words, figures in chosen
        ],
    )


def _median(figures: dict[str, list[float]], name: str) -> str:
    return shown(figures[name][0]) if name in figures else ""


def write(results: Path) -> None:
    """Put the last results between the markers of docs/benchmarks.md and the README, and the plots beside the
    other images.

    Raises FileNotFoundError when nothing was measured yet.
    """
    parts = []
    for name, words in (("table", "speed, server by server"), ("growth", "speed as tables grow")):
        file = results / f"{name}.json"
        if file.is_file():
            document = json.loads(file.read_text("utf-8"))
            picture = PLOTS / f"bench-{name}.svg"
            picture.write_text(plot.draw(document), "utf-8")
            parts += [f"![{words}](../{picture.relative_to(ROOT)})", markdown(document)]
            if name == "table":
                picture_here = f"![{words}]({picture.relative_to(ROOT)})"
                _put(ROOT / "README.md", f"{picture_here}\n\n{in_short(document)}")
    if not parts:
        raise FileNotFoundError(f"nothing was measured yet: no results in {results.name}/")
    _put(ROOT / "docs" / "benchmarks.md", "\n\n".join(parts))


def _put(file: Path, new: str) -> None:
    file.write_text(between_markers(file.read_text("utf-8"), new), "utf-8")


def between_markers(text: str, new: str) -> str:
    """`text` with a new text between the two markers. Raises ValueError where they are missing."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the markers are missing: {BEGIN} … {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{new}\n\n{END}", text)
