"""Explore small worlds: all states, by every order of requests, releases, withdrawals and ends.

python -m tests.core.explore                     the full run: over a million states
python -m tests.core.explore --quick             the slice that the test suite runs
python -m tests.core.explore 3:es 4:s/2          these worlds; see `Explorer`
"""

from __future__ import annotations

import argparse
import sys

from .explorer import Explorer, Violation

QUICK = ("2:ss", "3:ss/1", "4:s", "5:e", "4:ee")
FULL = (*QUICK, "3:eee", "2:sss", "3:ss", "4:ss/1", "5:s", "5:ee")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.core.explore", description="Explore small worlds.")
    parser.add_argument("worlds", nargs="*", help=f"by default {' '.join(FULL)}")
    parser.add_argument("--quick", action="store_true", help=f"only {' '.join(QUICK)}")
    parser.add_argument("--most", type=int, help="stop a world after this many states")
    given = parser.parse_args(arguments)
    total = 0
    for world in given.worlds or (QUICK if given.quick else FULL):
        try:
            seen = Explorer(world).run(given.most)
        except Violation as violation:
            print(violation)
            return 1
        total += seen.states
        print(seen, flush=True)
    print(f"{total} states, no violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
