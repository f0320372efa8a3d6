"""Taking turns: in each round every contestant is started, measured and stopped."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tests.services import ServiceError

from . import machine
from .contestants import Contestant, Missing
from .figures import spread
from .lab import Lab
from .speech import Fault
from .table import TARGETS, Row, Target
from .workloads import Metrics, Timing


@dataclass
class Measured:
    """The figures of one row, a set for each round; `missing` says why there are none."""

    rounds: list[Metrics] = field(default_factory=list)
    missing: str = ""


def say(words: str) -> None:
    """Print the progress."""
    print(words, file=sys.stderr, flush=True)


def take_turns(lab: Lab, rows: Sequence[Row], rounds: int, timing: Timing) -> dict[str, Measured]:
    """Measure all rows, round by round. A row that fails once has the reason instead of figures."""
    measured = {row.key: Measured() for row in rows}
    for number in range(rounds):
        for contestant, group in groupby(rows, key=lambda row: row.contestant):
            say(f"round {number + 1} of {rounds}: {contestant.label}")
            _turn(contestant(lab), list(group), timing, measured)
    return measured


def _turn(server: Contestant, rows: Iterable[Row], timing: Timing, measured: dict[str, Measured]) -> None:
    rows = [row for row in rows if not measured[row.key].missing]
    if not rows:
        return
    try:
        server.start()
        for row in rows:
            _measure(server, row, timing, measured[row.key])
    except (Missing, ServiceError, OSError, AssertionError) as reason:
        for row in rows:
            measured[row.key].missing = measured[row.key].missing or _words(reason)
    finally:
        server.stop()


def _measure(server: Contestant, row: Row, timing: Timing, measured: Measured) -> None:
    try:
        metrics = row.workload(server, timing)
        measured.rounds.append(server.settle() | metrics)
    except (Missing, Fault) as reason:
        measured.missing = _words(reason)
        say(f"  {row.key}: {measured.missing}")


def _words(reason: BaseException) -> str:
    lines = str(reason).strip().splitlines()
    return lines[-1][:300] if lines else type(reason).__name__


def as_json(rows: Sequence[Row], measured: dict[str, Measured]) -> list[dict[str, Any]]:
    """Rows with the spread of each figure: [median, low, high]."""
    return [_row_json(row, measured[row.key]) for row in rows]


def _row_json(row: Row, measured: Measured) -> dict[str, Any]:
    server = row.contestant
    fields = {
        "key": row.key,
        "server": server.label,
        "short": server.short,
        "ours": server.ours,
        "what": row.what,
    }
    if note := machine.cores(row.contestant.servers).note:
        fields["note"] = note
    if measured.missing:
        return {**fields, "missing": measured.missing}
    names = measured.rounds[0]
    figures = {name: spread([metrics[name] for metrics in measured.rounds]) for name in names}
    return {**fields, "figures": {name: [round(value, 4) for value in of] for name, of in figures.items()}}


def targets_json(measured: dict[str, Measured]) -> list[dict[str, Any]]:
    """Each target of these rows with the spread of the reached values, or the reason why they are unknown."""
    targets = [_target_json(target, measured) for target in TARGETS]
    return [target for target in targets if target is not None]


def _target_json(target: Target, measured: dict[str, Measured]) -> dict[str, Any] | None:
    fields = {"words": target.words, "unit": target.unit, "bound": target.bound, "least": target.least}
    rounds = max([1, *(len(row.rounds) for row in measured.values())])
    try:
        values = [target.value(lambda row, name: _figure(measured[row], at, name)) for at in range(rounds)]  # noqa: B023
    except KeyError:
        return None  # this row was not measured
    except Missing as reason:
        return {**fields, "missing": str(reason)}
    if machine.count() < target.cores:
        return {**fields, "missing": f"that takes {target.cores} cores, and here are {machine.count()}"}
    return {**fields, "reached": [round(value, 4) for value in spread(values)]}


def _figure(row: Measured, at: int, name: str) -> float:
    if row.missing:
        raise Missing(row.missing)
    return row.rounds[at][name]
