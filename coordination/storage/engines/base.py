"""What the store asks of a database: a lock, rows to read by key, lists of rows to write.

An engine holds one connection, used by one thread. It knows SQL and nothing of leases: `store.py` turns its
rows into core values and the core's changes into lists of rows for the named writes below. Both engines have
the same writes under the same names, and the behavioural suite runs on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .mark import Marker

Key = tuple[str, str]  # (workspace, name of a resource or DID of an agent)
Row = tuple[Any, ...]

# Every write, in the order in which a transaction makes them: ends before beginnings, so that a resource may
# pass from one holder to the next within a batch. The numbers of rows of guarded writes must be as expected.
OF_TENANT = ("lease_trust_move", "lease_agent", "lease_refusal")
"""What is dropped of a workspace that is no more; its resources and its row in lease_tenant follow."""
UNKNOWN = ""
"""The row of lease_tenant whose floor all workspaces without a row have: above every token of those that were
forgotten. A backup of the accounts may bring one of them back."""

WRITES = (
    "resource_insert",
    "resource_update",
    "lease_delete",
    "lease_update",
    "lease_insert",
    "wait_delete",
    "wait_update",
    "wait_insert",
    "refusal_delete",
    "refusal_insert",
    "agent_insert",
    "agent_update",
    "trust_insert",
    "trust_delete",
    "agent_delete",
    "tenant_put",
    "tenant_stamp",
    "outbox_insert",
    "outbox_delete",
)
GRANTED = "granted"
"""Beside the writes: (workspace, resource, token) of every resource whose token rises. Nothing is written."""

GUARDED = frozenset({"resource_update", "lease_delete", "lease_update", "wait_delete", "wait_update"})


class StorageFault(Exception):
    """The database did not do what was asked, or did it differently than expected."""


class WriteRefused(StorageFault):
    """The database is well but does not take these rows, or met others than expected. Nothing was written."""


class InDoubt(StorageFault):
    """The commit failed, or its answer was lost: what was written may be there."""


class Begun(NamedTuple):
    """What a transaction knows at its start, read after its locks are held."""

    clock: int | None  # the database's clock in ms; None where the process has the clock
    last_pulse: int | None  # the latest good transaction of any process
    outages: list[Row]  # (since, until)
    # Where others write too: the stamps of the workspaces that are locked, as far as they have one, and an
    # instant before which time changes nothing.
    stamps: Mapping[str, int] = {}
    due_from: int = 0
    token_floor: int = 0  # every fencing token is above it


class Wanted(NamedTuple):
    """What a batch needs to see: resources, agents and tenants by key, and all that is due somewhere."""

    resources: Sequence[Key] = ()
    agents: Sequence[Key] = ()
    tenants: Sequence[str] = ()
    due_in: Sequence[str] = ()


class Loaded(NamedTuple):
    resources: list[Row]  # (workspace, name, last_token, due_at, contended)
    agents: list[Row]  # as `Engine.agents`
    tenants: list[Row]  # (workspace, active, token_floor)


class Members(NamedTuple):
    leases: list[Row]  # (workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at) by token
    waits: list[Row]  # (workspace, resource, agent, mode, since, asked_at, offered_at) in queue order
    refusals: list[Row]  # (workspace, resource, agent, mode, holder, at) oldest first


class Standing(NamedTuple):
    """What a database knows of itself. `restored_at` in ms: when tokens were last raised after a restore, and
    `why`."""

    database_id: str
    token_floor: int = 0
    restored_at: int | None = None
    why: str = ""


class Engine(Protocol):
    """One connection to the authority's tables. All methods raise `StorageFault` when the database fails.

    `shared`: other processes write the same tables.
    """

    shared: bool
    marker: Marker | None

    def begin(self, workspaces: Sequence[str], horizon: int | None = None) -> Begun:
        """Start a transaction that holds the lock of each workspace until its end. `horizon`: up to when to
        look for what is due; by default until now, by the database's clock."""

    def load(self, want: Wanted, now: int) -> Loaded:
        """The resources asked for, together with those that time has changed at `now` in the workspaces
        `due_in`; the agents and the tenants that are known."""

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        """The leases of the `active` resources; the waits and refusals of the `contended` ones."""

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        """(workspace, did, score in tenths, releases, expiries)"""

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        """The resources on every chain of waits that leaves one of these agents."""

    def refused(self, workspace: str) -> list[Row]:
        """(resource, agent) of every deadlock refusal that is remembered there."""

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        """Make the named writes. A guarded write that meets other rows than expected is a `StorageFault`."""

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        """Record that no process ran since `since`, unless another process noticed first; what is on record
        then, or None if somebody was there after all."""

    def commit(self, process: str | None, now: int) -> None:
        """Note the pulse of `process`, if one is named, and commit; durable when this returns. `InDoubt` when
        that failed."""

    def rollback(self) -> None:
        """Undo, and be ready for the next transaction; never raises."""

    def reading(self) -> AbstractContextManager[Begun]:
        """A read-only transaction: one still view, no locks. Writes nothing, waits for nobody."""

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        """Names of resources with holders, waits or refusals, in the database's order, after a name."""

    def contended_names(self, workspace: str) -> list[str]:
        """Names of all resources with waits or refusals, in no order."""

    def names_of(self, workspace: str, agent: str) -> list[str]:
        """Names of the resources that an agent holds or waits for."""

    def outbox(self, limit: int, kids: Sequence[str]) -> AbstractContextManager[list[Row]]:
        """The oldest (receipt_id, workspace, kid, claims) that the ledger does not have yet and that one of
        these keys signed; kept from other processes in the block, in which they get none."""

    def outbox_size(self) -> tuple[int, int]:
        """How many rows wait for the ledger, and the bytes of their claims; outside a transaction."""

    def next_due(self) -> int | None:
        """The earliest instant at which time changes any resource; outside a transaction."""

    def due(self, now: int, limit: int) -> list[Row]:
        """(workspace, name, due_at) of the first `limit` resources that have run out at `now`, in the order
        in which they did; outside a transaction."""

    def latest(self) -> int:
        """What time it is at least, in ms: the database's clock, or the latest pulse; 0 on an empty file.
        StorageFault as well when the file is not in its place any more."""

    def resources_after(self, after: Key, limit: int) -> list[Row]:
        """The next (workspace, name, due_at, used_at) of all resources in the order of their keys; outside a
        transaction."""

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        """Within a transaction that holds the workspace's lock: forget those of these resources that have
        been idle since then, and fold their tokens into the workspace's floor; how many."""

    def tenants_after(self, after: str, limit: int) -> list[str]:
        """The next workspaces of which anything is known, in order; outside a transaction."""

    def forget_tenant(self, workspace: str, limit: int) -> int:
        """Within a transaction that holds the workspace's lock: drop up to `limit` rows of each kind of what
        is known of a workspace in which nothing is held or waited for, its row last; how many rows. Its
        tokens are folded into the floor of `UNKNOWN`."""

    def forget_history(self, before: int, limit: int) -> int:
        """Within a transaction: drop outages and up to `limit` trust moves from before that instant; how many
        moves."""

    def forget_pulses(self, older_ms: int) -> None:
        """Within a transaction: drop the pulses of processes that are so much older than the latest."""

    # --- the database as a whole, outside a transaction -------------------------------------------

    def standing(self) -> Standing | None:
        """What the database knows of itself; None before an authority has started on it."""

    def pulse(self) -> int | None:
        """The latest pulse of any process, in ms."""

    def moved(self) -> str:
        """Words, when the database is a copy of the one in which `standing` was written; else empty."""

    def token(self, workspace: str, resource: str) -> int | None:
        """The last fencing token of a resource as far as is known; None when its workspace is unknown."""

    def highest(self) -> int:
        """The highest fencing token on record, over all resources; looks through all of them."""

    def introduce(self, database_id: str) -> Standing:
        """Give a database its standing, unless it has one; what it is then."""

    def raise_floor(self, known: str, new: Standing, floor: Callable[[int], int]) -> Standing:
        """Replace the standing whose id is `known` (empty: none) by `new`, in one transaction that no grant
        runs beside. Its floor is `floor(highest)`, of the highest token in the database. When another process
        has replaced it already, nothing is done. Returns what stands now."""

    def close(self) -> None:
        """Give the connection back; never raises."""
