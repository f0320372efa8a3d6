"""How much of what happened waits for the ledger, and how much may.

The outbox is in the authority's own database. While the ledger is away it grows with every grant, and without
an end it would take the room that leases need; then no lease could be granted, released or reclaimed. So it
has a limit. Beyond it what happens is not recorded, leases go on, and an error is logged. Nothing that was
acknowledged is lost by that: an answer is given with its receipt, which proves by its own signature what was
decided. What is missing then is the copy in the ledger, and how much of it is missing is counted.

The size is an estimate between two counts of what is really there.
"""

import logging

logger = logging.getLogger(__name__)

ROW = 200
"""Bytes that a row takes besides its claims."""


class Backlog:
    """The size of the outbox, in bytes. One thread admits, another counts."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit`: bytes that may wait; None for any number."""
        self.limit = limit
        self.size = 0
        self.dropped = 0
        """Entries that were not recorded since this process began."""

    def admit(self, claims: int) -> bool:
        """Whether an entry with so many bytes of claims may be recorded, which then counts."""
        if self.limit is not None and self.size + claims + ROW > self.limit:
            self._drop()
            return False
        self.size += claims + ROW
        return True

    def left(self, claims: list[int]) -> None:
        """The ledger has entries with so many bytes of claims: they are in the outbox no more."""
        self.size = max(0, self.size - sum(claims) - ROW * len(claims))

    def doubtful(self) -> bool:
        """Whether it looks so large that it should be counted."""
        return self.limit is not None and self.size > self.limit // 10

    def count(self, rows: int, claims: int) -> None:
        """So many rows with so many bytes of claims are there."""
        self.size = rows * ROW + claims

    def _drop(self) -> None:
        self.dropped += 1
        # Logged at the first, the second, the fourth …: callers cannot fill the log.
        if self.dropped & (self.dropped - 1) == 0:
            logger.error(
                "the outbox is full and the ledger does not take it: entries were dropped, %s so far. Leases"
                " go on, and their receipts are good; the ledger lacks them. Make room for the ledger, or"
                " bring it back",
                self.dropped,
            )
