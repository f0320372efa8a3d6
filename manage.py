#!/usr/bin/env python
"""Entry to every management command of Intramedial."""

import os
import signal
import sys

if sys.argv[1:2] == ["serve"]:
    # Loading the program takes seconds on a busy machine, and a stop that was asked for is no fault: nothing
    # has begun that would have to be ended. `serve` has its own handlers later.
    for told in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told, lambda signum, frame: os._exit(0))

from django.core.management import execute_from_command_line

from intramedial.settings_table import BadSetting


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    try:
        execute_from_command_line(sys.argv)
    except BadSetting as bad:
        # Whoever set it needs the words, not where they were raised.
        raise SystemExit(str(bad)) from None


if __name__ == "__main__":
    main()
