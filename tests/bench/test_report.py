"""Tables, targets and plots from results."""

from xml.etree import ElementTree

import pytest

from tests.bench import plot, report
from tests.bench.rounds import Measured, targets_json

MACHINE = {
    "cpu": "a CPU",
    "cores": 2,
    "memoryGb": 4,
    "kernel": "Linux 6.1",
    "fileSystem": "ext4",
    "python": "3.11",
    "sqlite": "3.40",
    "packages": {"django": "5.2"},
    "programs": {"etcd": "3.4"},
}
ROW = {
    "key": "embedded.32",
    "server": "Intramedial, embedded (SQLite)",
    "short": "embedded",
    "ours": True,
    "what": "32 connections",
}
FIGURES = {
    "cycles_s": [2500.0, 2400.0, 2600.0],
    "requests_s": [5000.0, 5000.0, 5000.0],
    "p50_ms": [6.5, 6, 7],
}
TABLE = {
    "date": "2026-01-31",
    "machine": MACHINE,
    "rounds": 3,
    "seconds": 6.0,
    "rows": [
        {**ROW, "figures": FIGURES},
        {"key": "etcd.32", "server": "etcd", "what": "32 connections", "missing": "etcd is not installed"},
    ],
    "targets": [
        {"words": "met", "unit": "×", "bound": 2.0, "least": True, "reached": [2.5, 2.4, 2.6]},
        {"words": "not met", "unit": "ms", "bound": 10, "least": False, "reached": [12.0, 11.0, 13.0]},
        {"words": "unknown", "unit": "×", "bound": 1.3, "least": True, "missing": "etcd is not installed"},
    ],
}
GROWTH = {
    "date": "2026-01-31",
    "machine": MACHINE,
    "growth": [
        {
            "key": "a",
            "title": "Leases",
            "head": ["leases", "ms"],
            "plot": [1],
            "rows": [[10, 0.5], [1000, 0.75]],
        },
        {"key": "b", "title": "Missing", "head": ["x"], "plot": [], "rows": [], "missing": "no PostgreSQL"},
    ],
}


def figures(**rows: list[dict[str, float]]) -> dict[str, Measured]:
    """Measurements by row, with `_` for the dot of its key."""
    return {key.replace("_", "."): Measured(rounds) for key, rounds in rows.items()}


def line_of(text: str, words: str) -> list[str]:
    """The cells of the table row that begins with these words."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {words} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_shows_the_median_and_a_differing_spread_in_brackets():
    cells = line_of(report.markdown(TABLE), ROW["server"])
    assert cells[1:5] == ["32 connections", "5 000", "2 500 (2 400 – 2 600)", "6.50 (6 – 7)"]


def test_a_row_that_was_not_measured_has_the_reason_and_no_figure():
    cells = line_of(report.markdown(TABLE), "etcd")
    assert cells[2:6] == [""] * 4
    assert cells[6] == "not measured: etcd is not installed"


@pytest.mark.parametrize(("words", "mark"), [("met", "✓"), ("not met", "✗"), ("unknown", "")])
def test_a_target_is_met_or_not_or_unknown(words, mark):
    cells = line_of(report.markdown(TABLE).replace("not measured: etcd is not installed", ""), words)
    assert cells[3] == mark


def test_machine_and_date_are_below_the_table():
    assert report.markdown(TABLE).splitlines()[-1].startswith("2026-01-31, a CPU, 2 cores, 4 GB, Linux 6.1")


def test_a_target_is_a_ratio_of_the_same_round():
    measured = figures(
        embedded_32=[{"cycles_s": 2000.0}, {"cycles_s": 3000.0}],
        etcd_32=[{"cycles_s": 1000.0}, {"cycles_s": 1000.0}],
    )
    (target,) = targets_json(measured)
    assert target["reached"] == [2.5, 2.0, 3.0]


def test_a_target_without_its_row_has_the_reason_and_one_not_measured_is_left_out():
    measured = figures(embedded_32=[{"cycles_s": 2000.0}], etcd_32=[])
    measured["etcd.32"].missing = "etcd is not installed"
    (target,) = targets_json(measured)
    assert target["missing"] == "etcd is not installed"
    assert "reached" not in target


def test_growth_has_a_table_for_each_part():
    text = report.markdown(GROWTH)
    assert line_of(text, "1000") == ["1000", "0.75"]
    assert "**Missing**: not measured: no PostgreSQL" in text


def test_the_readme_only_changes_between_the_markers():
    before = f"head\n{report.BEGIN}\nold\n{report.END}\ntail\n"
    after = report.between_markers(before, "new \\1")
    assert after == f"head\n{report.BEGIN}\n\nnew \\1\n\n{report.END}\ntail\n"
    assert report.between_markers(after, "new \\1") == after


def test_a_readme_without_markers_is_an_error():
    with pytest.raises(ValueError, match="markers"):
        report.between_markers("text", "new")


@pytest.mark.parametrize("document", [TABLE, GROWTH], ids=["table", "growth"])
def test_a_plot_is_well_formed_and_shows_what_was_measured(document):
    image = ElementTree.fromstring(plot.draw(document))
    words = " ".join(image.itertext())
    assert ("2 500" in words) or ("Leases" in words)
    assert "not installed" not in words
