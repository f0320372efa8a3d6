"""Plots as SVG, drawn by hand: bars for servers side by side, lines for growth.

An image in a README only has its own stylesheet, so colours and type are set here, readable on light and
dark backgrounds.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from .figures import shown

WIDTH, MARGIN = 760, 24
BAR, GAP, LABELS = 20, 10, 340
PLOT_HEIGHT, LEFT = 220, 70
OURS, PEER = "#4f6bed", "#8a94a6"
LINES = ("#4f6bed", "#d9730d", "#2e9e6b", "#b0479e")
TITLE = "Acquire and release: cycles a second by number of connections; median, lowest, highest"
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#5b6472}.title{font-weight:600;fill:#3b4352}"
    ".range{stroke:#1f2533;stroke-width:2}.grid{stroke:#8a94a6;stroke-width:.5;stroke-dasharray:2 4}"
    "@media(prefers-color-scheme:dark){text{fill:#b8c0cc}.title{fill:#e3e7ed}.range{stroke:#e3e7ed}}"
)


def draw(document: dict[str, Any]) -> str:
    """The plot of one results file."""
    if "growth" in document:
        return lines([part for part in document["growth"] if part["rows"]])
    return bars(document["rows"])


def bars(rows: Iterable[dict[str, Any]]) -> str:
    """Cycles a second of every row that has them, with the spread as a thin line."""
    rows = [row for row in rows if "cycles_s" in row.get("figures", {}) and not row["key"].startswith("echo")]
    longest = max((row["figures"]["cycles_s"][2] for row in rows), default=1.0)
    scale = (WIDTH - LABELS - MARGIN - 60) / longest
    elements = [_text(MARGIN, MARGIN, TITLE, "title")]
    top = MARGIN + GAP
    for row in rows:
        median, low, high = row["figures"]["cycles_s"]
        middle = top + BAR / 2
        connections, _, rest = row["what"].partition(", and")[0].partition(" connection")
        label = f"{row['short']} · {connections}{rest.removeprefix('s')}"
        colour = OURS if row["ours"] else PEER
        elements += [
            _text(LABELS - 8, middle + 4, label, anchor="end"),
            f'<rect x="{LABELS}" y="{top}" width="{median * scale:.1f}" height="{BAR}" fill="{colour}"/>',
            _line(LABELS + low * scale, middle, LABELS + high * scale, middle, "range"),
            _text(LABELS + high * scale + 8, middle + 4, shown(median)),
        ]
        top += BAR + GAP
    return _svg(top + MARGIN / 2, elements)


def lines(parts: Sequence[dict[str, Any]]) -> str:
    """One plot below the other; both axes are logarithmic, so that proportional growth has a slope of one."""
    elements: list[str] = []
    top = float(MARGIN)
    for part in parts:
        elements += _lines(part, top)
        top += PLOT_HEIGHT + 3 * MARGIN
    return _svg(top, elements)


def _lines(part: dict[str, Any], top: float) -> list[str]:
    """`part["plot"]` names the columns that are drawn over the first."""
    columns = part["plot"]
    xs = [float(row[0]) for row in part["rows"]]
    values = [float(row[column]) for row in part["rows"] for column in columns if _number(row[column])]
    if not values:
        return []
    x, y = _axis(xs, LEFT, WIDTH - MARGIN - 190), _axis(values, top + PLOT_HEIGHT, top + 24)
    elements = [_text(MARGIN, top + 4, part["title"], "title")]
    for value in _decades(values):
        elements += [
            _line(LEFT, y(value), WIDTH - MARGIN - 190, y(value), "grid"),
            _text(LEFT - 6, y(value) + 4, shown(value), anchor="end"),
        ]
    for value in xs:
        elements.append(_text(x(value), top + PLOT_HEIGHT + 18, shown(value), anchor="middle"))
    ends: list[tuple[float, str]] = []
    for colour, column in zip(LINES, columns, strict=False):
        points = [(x(float(row[0])), y(float(row[column]))) for row in part["rows"] if _number(row[column])]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        elements.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        elements += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
        if points:
            ends.append((points[-1][1], part["head"][column]))
    return [*elements, *_names(ends)]


def _names(ends: list[tuple[float, str]]) -> list[str]:
    """The lines' names at their ends, moved apart where the ends are close."""
    elements, free = [], 0.0
    for y, name in sorted(ends):
        free = max(y + 4, free)
        elements.append(_text(WIDTH - MARGIN - 180, free, name))
        free += 16
    return elements


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


def _svg(height: float, elements: Iterable[str]) -> str:
    size = f'width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
    body = "\n".join(elements)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<style>{STYLE}</style>'
    return f"{head}\n{body}\n</svg>\n"
