"""`betapassword create`."""

from argparse import ArgumentTypeError
from datetime import UTC, date, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from intramedial.accounts import beta
from intramedial.audit import record
from intramedial.http.formats import rfc3339
from intramedial.management.base import NounCommand, Result

DIGITS = 9
EXPIRES = (
    "YYYY-MM-DD: good to the end of that day, UTC; or an exact RFC 3339 instant, UTC unless it has an "
    "offset; default: it does not expire"
)


class Command(NounCommand):
    """Makes beta passwords."""

    help = "Make beta passwords."

    def add_actions(self) -> None:
        """Declare `create`."""
        create = self.add_action("create", self.create, "make a beta password; it is shown once")
        create.add_argument("--label", default="", help="for whom it is")
        create.add_argument("--max-uses", type=positive, metavar="N", help="default: no limit")
        create.add_argument("--expires", type=instant, metavar="DATE", help=EXPIRES)

    def create(self, options: dict[str, Any]) -> Result:
        """{"betaPassword": "…"}, and with `--expires` also `expiresAt`, the last instant at which it is
        valid."""
        with transaction.atomic():
            secret = beta.create(options["label"], options["max_uses"], options["expires"])
            record.act(None, "beta_password.created", target=secret.partition("-")[0])
        result: Result = {"betaPassword": secret}
        if options["expires"] is not None:
            result["expiresAt"] = rfc3339(options["expires"])
        return result


def positive(text: str) -> int:
    """A whole number above zero that fits its column."""
    if not text.isdecimal() or len(text) > DIGITS or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number above zero, of at most {DIGITS} digits")
    return int(text)


def instant(text: str) -> datetime:
    """A future instant: the end of a date (UTC), or an instant, which is in UTC unless it has an offset."""
    try:
        moment = _parsed(text)
    except (ValueError, OverflowError):
        raise ArgumentTypeError("must be YYYY-MM-DD or an RFC 3339 instant") from None
    if moment <= timezone.now():
        raise ArgumentTypeError("is over already")
    return moment


def _parsed(text: str) -> datetime:
    try:
        return beta.end_of(date.fromisoformat(text))
    except ValueError:
        moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
