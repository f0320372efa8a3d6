"""`status`: how the running server is, or what is known of its leases while none runs."""

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
        """{"running": …, "ok": …, "parts": {…}, "restored": {…}, "clockAheadMs": n}; what is not known, or is
        as it should be, is left out."""
        said = health.ask_ready()
        if said is not None:
            known = ("ok", "detail", "parts", "restored", "clockAheadMs")
            return {"running": True, **{name: said[name] for name in known if name in said}}
        return {"running": False, **authority.look()}
