#!/usr/bin/env python
"""Entry to every management command of Intramedial."""

import os
import signal
import sys

if sys.argv[1:2] == ["serve"]:
    # Loading the program takes seconds on a busy machine. A stop in that time is no failure: nothing has
    # started that would have to be ended. `serve` sets its own handlers later.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda signum, frame: os._exit(0))

from django.core.management import execute_from_command_line

from intramedial.settings_table import BadSetting


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    try:
        execute_from_command_line(sys.argv)
    except BadSetting as bad:
        # The operator needs the words, not the traceback.
        raise SystemExit(str(bad)) from None


if __name__ == "__main__":
    main()
