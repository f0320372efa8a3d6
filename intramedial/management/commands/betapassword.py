"""`betapassword create`."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from intramedial.accounts import beta
from intramedial.audit import record
from intramedial.management.base import NounCommand, Result

DIGITS = 9


class Command(NounCommand):
    """Makes beta passwords."""

    help = "Make beta passwords."

    def add_actions(self) -> None:
        """Declare `create`."""
        create = self.add_action("create", self.create, "make a beta password; it is shown once")
        create.add_argument("--label", default="", help="for whom it is")
        create.add_argument("--max-uses", type=positive, metavar="N", help="default: no limit")
        create.add_argument("--expires", type=instant, metavar="DATE", help="YYYY-MM-DD or RFC 3339")

    def create(self, options: dict[str, Any]) -> Result:
        """{"betaPassword": "…"}."""
        with transaction.atomic():
            secret = beta.create(options["label"], options["max_uses"], options["expires"])
            record.act(None, "beta_password.created", target=secret.partition("-")[0])
        return {"betaPassword": secret}


def positive(text: str) -> int:
    """A whole number above zero that a column holds."""
    if not text.isdecimal() or len(text) > DIGITS or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number above zero, of at most {DIGITS} digits")
    return int(text)


def instant(text: str) -> datetime:
    """An instant to come; a date alone, or one without an offset, is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("must be YYYY-MM-DD or an RFC 3339 instant") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment <= timezone.now():
        raise ArgumentTypeError("is over already")
    return moment
