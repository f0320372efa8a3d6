"""The command line; see the package."""

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

from . import growth, machine, report
from .lab import Lab
from .rounds import as_json, take_turns, targets_json
from .table import ROWS
from .workloads import Timing

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Measure, print, and store the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("table", "growth", "report"), default="table")
    parser.add_argument("--quick", action="store_true", help="the main rows, in less than a minute")
    parser.add_argument("--rounds", type=int, help="how many times everybody's turn comes")
    parser.add_argument("--seconds", type=float, help="how long a run is measured")
    parser.add_argument("--only", default="", help="rows, or parts of growth, whose key begins so: a,b,…")
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="live leases, for growth")
    options = parser.parse_args()
    options.only = tuple(filter(None, options.only.split(",")))
    keys = [key for key, *_ in growth.PARTS] if options.what == "growth" else [row.key for row in ROWS]
    for only in options.only:
        if not any(key.startswith(only) for key in keys):
            parser.error(f"nothing begins with {only!r}; there are {', '.join(keys)}")
    if options.what == "report":
        report.write(RESULTS)
    elif options.what == "growth":
        _growth(options)
    else:
        _table(options)


def _table(options: argparse.Namespace) -> None:
    rows = [
        row for row in ROWS if row.key.startswith(options.only or "") and (row.quick or not options.quick)
    ]
    rounds = options.rounds or (1 if options.quick else 7)
    seconds = options.seconds or (1.5 if options.quick else 2.0)
    timing = Timing(warm_up_s=seconds / 3, measure_s=seconds)
    with Lab() as lab:
        measured = take_turns(lab, rows, rounds, timing)
    document = {
        **_head(),
        "rounds": rounds,
        "seconds": seconds,
        "rows": as_json(rows, measured),
        "targets": targets_json(measured),
    }
    _tell("table", document, keep=not (options.quick or options.only))


def _growth(options: argparse.Namespace) -> None:
    sizes = [int(size) for size in options.sizes.split(",")]
    with Lab() as lab:
        parts = growth.measure(lab, sizes, options.seconds or 3.0, options.only)
    _tell("growth", {**_head(), "growth": parts}, keep=not options.only)


def _head() -> dict[str, Any]:
    today = datetime.datetime.now(datetime.UTC).date()
    return {"date": today.isoformat(), "machine": machine.describe()}


def _tell(name: str, document: dict[str, Any], keep: bool) -> None:
    """Print a document; store a whole one, to be committed by hand."""
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    print(report.markdown(document))


if __name__ == "__main__":
    main()
