#!/usr/bin/env python
"""Entry to every management command of Intramedial."""

import os
import sys

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
