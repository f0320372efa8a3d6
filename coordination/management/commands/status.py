"""`status`: the state of the running server, or of the database of leases while no server runs."""

from typing import Any

from django.core.management.base import CommandParser

from coordination.authority import process as authority
from intramedial.management.base import Result, ResultCommand
from intramedial.process import health


class Command(ResultCommand):
    """Asks the server's `/health/ready`. When no server answers, it looks at the database of leases."""

    help = (
        "Say whether the server is ready, whether its leases were restored, and whether its clock is ahead."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`."""
        self.add_json(parser)

    def run(self, options: dict[str, Any]) -> Result:
        """{"running": …, "ok": …, "parts": {…}, "restored": {…}, "clockAheadMs": n}; what is unknown or
        normal is left out."""
        answer = health.ask_ready()
        if answer is not None:
            known = ("ok", "detail", "parts", "restored", "clockAheadMs")
            return {"running": True, **{name: answer[name] for name in known if name in answer}}
        return {"running": False, **authority.look()}
