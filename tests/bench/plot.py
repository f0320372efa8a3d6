"""Plots as SVG, drawn by hand: bars for servers side by side, lines for growth.

An image in a README has no stylesheet but its own, so colours and type are set here, readable on light and on
dark.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from .figures import shown

WIDTH, MARGIN = 760, 24
BAR, GAP, LABELS = 20, 10, 330
PLOT_HEIGHT, LEFT = 220, 70
OURS, PEER, CEILING = "#4f6bed", "#8a94a6", "#c3c9d4"
LINES = ("#4f6bed", "#d9730d", "#2e9e6b", "#b0479e")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#5b6472}.title{font-weight:600;fill:#3b4352}"
    ".axis{stroke:#8a94a6;stroke-width:1}.grid{stroke:#8a94a6;stroke-width:.5;stroke-dasharray:2 4}"
    "@media(prefers-color-scheme:dark){text{fill:#b8c0cc}.title{fill:#e3e7ed}}"
)


def draw(document: dict[str, Any]) -> str:
    """The plot of one results file."""
    if "growth" in document:
        return lines([part for part in document["growth"] if part["rows"]])
    return bars(document["rows"])


def bars(rows: Iterable[dict[str, Any]]) -> str:
    """Cycles a second of every row that has them, with its spread as a thin line."""
    rows = [row for row in rows if "cycles_s" in row.get("figures", {}) and not row["key"].startswith("echo")]
    longest = max((row["figures"]["cycles_s"][2] for row in rows), default=1.0)
    scale = (WIDTH - LABELS - MARGIN - 60) / longest
    said = [_text(MARGIN, MARGIN, "Acquire and release, cycles per second: median, lowest, highest", "title")]
    top = MARGIN + GAP
    for row in rows:
        median, low, high = row["figures"]["cycles_s"]
        middle = top + BAR / 2
        label = f"{row['server'].partition(' (')[0].partition(',')[0]} · {_short(row)}"
        colour = OURS if row["server"].startswith("Intramedial") else PEER
        said += [
            _text(LABELS - 8, middle + 4, label, anchor="end"),
            f'<rect x="{LABELS}" y="{top}" width="{median * scale:.1f}" height="{BAR}" fill="{colour}"/>',
            _line(LABELS + low * scale, middle, LABELS + high * scale, middle, "axis"),
            _text(LABELS + high * scale + 8, middle + 4, shown(median)),
        ]
        top += BAR + GAP
    return _svg(top + MARGIN / 2, said)


def _short(row: dict[str, Any]) -> str:
    server = row["server"].partition(",")[2].partition(" (")[0].strip()
    where = f"{server}, " if row["server"].startswith("Intramedial") else ""
    return where + row["what"].replace(" connections", "").replace(" connection", "").partition(", and")[0]


def lines(parts: Sequence[dict[str, Any]]) -> str:
    """One plot below the other; both axes logarithmic, so that growth in proportion is a slope of one."""
    said: list[str] = []
    top = float(MARGIN)
    for part in parts:
        said += _lines(part, top)
        top += PLOT_HEIGHT + 3 * MARGIN
    return _svg(top, said)


def _lines(part: dict[str, Any], top: float) -> list[str]:
    """`part["plot"]`: which columns are drawn over the first."""
    columns = part["plot"]
    xs = [float(row[0]) for row in part["rows"]]
    values = [float(row[column]) for row in part["rows"] for column in columns if _number(row[column])]
    if not values:
        return []
    x, y = _axis(xs, LEFT, WIDTH - MARGIN - 190), _axis(values, top + PLOT_HEIGHT, top + 24)
    said = [_text(MARGIN, top + 4, part["title"], "title")]
    for value in _decades(values):
        said += [
            _line(LEFT, y(value), WIDTH - MARGIN - 190, y(value), "grid"),
            _text(LEFT - 6, y(value) + 4, shown(value), anchor="end"),
        ]
    for value in xs:
        said.append(_text(x(value), top + PLOT_HEIGHT + 18, shown(value), anchor="middle"))
    for colour, column in zip(LINES, columns, strict=False):
        points = [(x(float(row[0])), y(float(row[column]))) for row in part["rows"] if _number(row[column])]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        said.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        said += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
        if points:
            said.append(_text(WIDTH - MARGIN - 180, points[-1][1] + 4, part["head"][column]))
    return said


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0


def _decades(values: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _axis(values: Sequence[float], start: float, end: float) -> Any:
    decades = _decades(values)
    low, span = math.log10(decades[0]), math.log10(decades[-1]) - math.log10(decades[0])
    return lambda value: start + (end - start) * (math.log10(value) - low) / span


def _text(x: float, y: float, words: str, of: str = "", anchor: str = "start") -> str:
    kind = f' class="{of}"' if of else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, of: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{of}"/>'


def _svg(height: float, said: Iterable[str]) -> str:
    size = f'width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
    body = "\n".join(said)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<style>{STYLE}</style>'
    return f"{head}\n{body}\n</svg>\n"
