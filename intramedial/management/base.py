"""The base of the management commands: `--json`, and an action such as `create` after a noun."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import translation

Result = dict[str, Any]
Action = Callable[[dict[str, Any]], Result]


class ResultCommand(BaseCommand):
    """A command with one result, written as lines for people, or with `--json` as one object on stdout.

    A failure is a CommandError: words on stderr, exit code 1, nothing on stdout.
    """

    requires_system_checks: list[str] = []

    def add_json(self, parser: ArgumentParser) -> None:
        """Add `--json` to a parser."""
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the action and write its result, both in English whatever the language of the pages is."""
        with translation.override("en"):
            result = self.run(options)
        if options["json"]:
            self.stdout.write(json.dumps(result, ensure_ascii=False))
        else:
            self.write(result)

    def write(self, result: Result) -> None:
        """Write the result for people."""
        for name, value in result.items():
            self.stdout.write(f"{name}: {value}")

    def run(self, options: dict[str, Any]) -> Result:
        """Do the work, and return the fields of the result."""
        raise NotImplementedError


class NounCommand(ResultCommand):
    """A command whose first argument is an action on its noun."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Add one sub-parser for each action."""
        self._actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        self.add_actions()

    def add_actions(self) -> None:
        """Call `add_action` for each action."""
        raise NotImplementedError

    def add_action(self, name: str, run: Action, help_text: str) -> ArgumentParser:
        """Add an action, and return its parser for further arguments."""
        parser = self._actions.add_parser(name, help=help_text)
        parser.set_defaults(run=run)
        self.add_json(parser)
        return parser

    def run(self, options: dict[str, Any]) -> Result:
        """Run the action that was named."""
        action: Action = options["run"]
        return action(options)
