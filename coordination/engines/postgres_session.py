"""The PostgreSQL engine's sessions: what they are set to, and how long they wait for an answer."""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

# A server that hangs must become an error in time: a caller is told within seconds that there is no lease.
SESSION = {
    "connect_timeout": "3",
    "application_name": "intramedial-authority",
    "tcp_user_timeout": "5000",
    "keepalives_idle": "5",
}
SILENT_S = 8.0  # longer than the server's own limits, for a server that cannot keep them
# The planner knows too little of tables that change within seconds: when they were last analyzed, all that
# lives now was due later. So each statement is written for one index, planned once, kept from whole tables.
OPTIONS = (
    "-c statement_timeout=5000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=10000"
    " -c synchronous_commit=on -c default_transaction_isolation=read\\ committed -c timezone=UTC"
    " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
    " -c max_parallel_workers_per_gather=0"
)


class Connection(psycopg.Connection[Any]):
    """One that is closed when it is lost, or when the server says nothing for `SILENT_S`."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """See psycopg: every exchange with the server waits here."""
        try:
            return super().wait(gen, interval, SILENT_S if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # it is not the server that says so
                self.close()
            raise
