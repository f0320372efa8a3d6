"""Trust as a drawing: a bar for a score, a line for what moved it. Numbers in, coordinates out."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from coordination.read.history import Move

FULL = 100
WIDTH, HEIGHT = 600, 120
MARGIN = 10
BAR = 64


def bar(score: float) -> str:
    """The length of a score's bar, `BAR` at most."""
    return _said(BAR * score / FULL)


def drawing(moves: Sequence[Move]) -> dict[str, Any]:
    """The line through the scores of these moves, the latest of them first; there are at least two.

    `line` goes from the score before the first of them; `marks` are where leases ran out.
    """
    oldest_first = list(reversed(moves))
    scores = [oldest_first[0].score - oldest_first[0].delta, *(move.score for move in oldest_first)]
    step = (WIDTH - 2 * MARGIN) / (len(scores) - 1)
    points = [(_said(MARGIN + at * step), _y(score)) for at, score in enumerate(scores)]
    line = f"M{points[0][0]} {points[0][1]}" + "".join(f"H{x}V{y}" for x, y in points[1:])
    return {
        "line": line,
        "marks": [
            {"x": x, "y": y}
            for (x, y), move in zip(points[1:], oldest_first, strict=True)
            if not move.released
        ],
        "begins": scores[0],
        "ends": scores[-1],
        "lowest": min(scores),
        "highest": max(scores),
        "released": sum(move.released for move in moves),
        "expired": sum(not move.released for move in moves),
        "width": WIDTH,
        "height": HEIGHT,
        "levels": [{"score": score, "y": _y(Decimal(score))} for score in (0, 50, FULL)],
    }


def _y(score: Decimal) -> str:
    return _said(float(MARGIN + (FULL - score) * (HEIGHT - 2 * MARGIN) / FULL))


def _said(length: float) -> str:
    """A coordinate as SVG has it, in whatever language the page is."""
    return f"{length:.1f}"
