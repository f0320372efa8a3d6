"""From the outbox to the ledger: a thread signs the receipts and appends them.

A ledger that is missing, locked or slow stops this thread only; leases go on. The outbox keeps what is not in
the ledger yet. Appending is idempotent, so a crash in between loses no receipt and adds none twice.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from coordination.storage.clock import steady_ms
from coordination.storage.engines.base import Engine, Row
from coordination.storage.opening import open_engine
from coordination.storage.store import Backlog
from intramedial.ledger import log
from intramedial.receipts import receipt as receipts
from intramedial.receipts import signing

logger = logging.getLogger(__name__)

AT_ONCE = 500
REST_S = 0.05  # between two rounds, so that a round moves many receipts
RETRY_S = 1.0
SLOW_MS = 1_000  # an append that takes longer counts as failing
LOOK_S = 5.0  # between two looks when nothing is recorded here; another process may have left receipts

Drained = Callable[[list[str]], "Future[None]"]


class Drain:
    """One thread in each process; of several processes one drains at a time."""

    def __init__(self, backlog: Backlog) -> None:
        """The size of the outbox is kept in `backlog`."""
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
        """Why the last round failed, or that the present one takes long; empty when all is well."""
        since = self._appending_since
        if not self._fault and since is not None and steady_ms() - since > SLOW_MS:
            return "the ledger does not answer"
        return self._fault

    def wake(self) -> None:
        """Start a round soon: the outbox has something new."""
        self._work.set()

    def start(self, drained: Drained) -> None:
        """Start the thread. `drained` has the authority take receipt ids out of the outbox; its future
        resolves when they are out."""
        self._thread = threading.Thread(target=self._run, args=(drained,), name="outbox", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the present round, without waiting for a ledger that hangs."""
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
                # Any error stops only the ledger: the outbox keeps the receipts, and leases go on.
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
        """Count the rows at the start, and when there may be many: other processes add and remove rows
        too."""
        if self._backlog.doubtful() or not self._counted:
            self._backlog.count(*self._connected().outbox_size())
            self._counted = True

    def _round(self, drained: Drained) -> int:
        # A receipt whose key is not here is left to a process that has the key. A receipt without a key was
        # not in its answer, so any key may sign it.
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
    """The receipt's JWS, the same bytes as in the answer: remembered, or signed again by the same key."""
    receipt_id, _, kid, claims = row
    signed = receipts.recent(receipt_id)
    if signed is not None:
        return signed
    receipt = receipts.receipt(bytes(claims), receipt_id, kid or None)
    if receipt is None:
        raise RuntimeError("no key to sign with")
    return receipt["jws"]
