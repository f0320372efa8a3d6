"""From the outbox to the ledger: signs what happened and appends it, outside any lease's way.

A ledger that is missing, locked or slow stops this thread and nothing else: the outbox keeps what is not in
the ledger yet, and appending is idempotent, so a crash between the two loses and doubles nothing.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from coordination.storage.backlog import Backlog
from coordination.storage.clock import steady_ms
from coordination.storage.engines.base import Engine, Row
from coordination.storage.opening import open_engine
from intramedial.ledger import log
from intramedial.receipts import receipt as receipts
from intramedial.receipts import signing

logger = logging.getLogger(__name__)

AT_ONCE = 500
REST_S = 0.05  # between two rounds, so that each moves many
RETRY_S = 1.0
SLOW_MS = 1_000  # after so long an append counts as failing
LOOK_S = 5.0  # what another process left behind is found even if nothing is recorded here

Drained = Callable[[list[str]], "Future[None]"]


class Drain:
    """One thread a process; with several processes one of them drains at a time."""

    def __init__(self, backlog: Backlog) -> None:
        """`backlog`: is kept in step with what the outbox has."""
        self._backlog = backlog
        self._counted = False
        self._work = threading.Event()
        self._stopping = threading.Event()
        self._engine: Engine | None = None
        self._thread: threading.Thread | None = None
        self._fault = ""  # why the last round failed
        self._appending_since: int | None = None  # steady clock

    @property
    def fault(self) -> str:
        """Why the last round failed, or that the one under way takes long; empty when all is well."""
        since = self._appending_since
        if not self._fault and since is not None and steady_ms() - since > SLOW_MS:
            return "the ledger does not answer"
        return self._fault

    def wake(self) -> None:
        """There is something new in the outbox."""
        self._work.set()

    def start(self, drained: Drained) -> None:
        """`drained` takes receipt ids out of the outbox and says when that is done."""
        self._thread = threading.Thread(target=self._run, args=(drained,), name="outbox", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the round under way; a ledger that hangs is not waited for."""
        self._stopping.set()
        self._work.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _run(self, drained: Drained) -> None:
        while not self._stopping.is_set():
            try:
                self._count()
                moved = self._round(drained)
            except Exception as error:
                # Whatever it is, it is the ledger's trouble: the outbox waits and the leases go on.
                self._failed(f"{type(error).__name__}: {error}")
                self._reconnect()
                self._stopping.wait(RETRY_S)
                continue
            self._went_well()
            if moved < AT_ONCE:
                self._work.wait(LOOK_S)
                self._work.clear()
            self._stopping.wait(REST_S)
        self._reconnect()

    def _failed(self, words: str) -> None:
        if words != self._fault:
            logger.error("the ledger does not take receipts now; leases go on: %s", words)
        self._fault = words

    def _went_well(self) -> None:
        if self._fault:
            logger.warning("the ledger takes receipts again")
        self._fault = ""

    def _connected(self) -> Engine:
        if self._engine is None:
            self._engine = open_engine(readonly=True)
        return self._engine

    def _count(self) -> None:
        """What other processes record and take out, only a count tells; and what was there at the start."""
        if self._backlog.doubtful() or not self._counted:
            self._backlog.count(*self._connected().outbox_size())
            self._counted = True

    def _round(self, drained: Drained) -> int:
        # What was decided under a key that is not here is left to a process that has it. Without a key, the
        # answer had no receipt, and any will do.
        kids = ["", *(signer.kid for signer in signing.ring().signers())]
        with self._connected().outbox(AT_ONCE, kids) as rows:
            if rows:
                self._append(rows)
                drained([row[0] for row in rows]).result(timeout=30)
                self._backlog.left([len(row[3]) for row in rows])
        return len(rows)

    def _append(self, rows: list[Row]) -> None:
        leaves = [(row[0], row[1], _sign(row)) for row in rows]
        self._appending_since = steady_ms()
        try:
            log.append(leaves)
        finally:
            self._appending_since = None

    def _reconnect(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        log.close()


def _sign(row: Row) -> str:
    """The receipt's JWS, byte for byte the one of the answer: as it was signed, or by the same key anew."""
    receipt_id, _, kid, claims = row
    signed = receipts.recent(receipt_id)
    if signed is not None:
        return signed
    receipt = receipts.receipt(bytes(claims), receipt_id, kid or None)
    if receipt is None:
        raise RuntimeError("no key to sign with")
    return receipt["jws"]
