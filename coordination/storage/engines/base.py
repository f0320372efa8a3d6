"""What the store needs from a database: a lock, rows to read by key, lists of rows to write.

An engine has one connection, used by one thread. It knows SQL and nothing of leases: the store turns its rows
into values of the core, and the changes of the core into lists of rows for the named writes below. Both
engines have the same writes under the same names, and the behavioural suite runs on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .mark import Marker

Key = tuple[str, str]  # (workspace, name of a resource or DID of an agent)
Row = tuple[Any, ...]

OF_TENANT = ("lease_trust_move", "lease_agent", "lease_refusal")
"""The tables from which a workspace that no longer exists is dropped first; its resources and its row in
lease_tenant follow."""
UNKNOWN = ""
"""The row of lease_tenant with the floor of all workspaces that have no row. It is above every token of the
workspaces that were forgotten, because a backup of the accounts may bring one of them back."""

# Every write, in the order in which a transaction makes them. Ends come before beginnings, so that a resource
# can pass from one holder to the next within a batch. A guarded write must meet as many rows as it is given.

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
"""Rows (workspace, resource, token) of every resource whose token rises. They are for the mark, not
written."""

GUARDED = frozenset({"resource_update", "lease_delete", "lease_update", "wait_delete", "wait_update"})


class StorageFault(Exception):
    """The database did not do what was asked, or did it differently than expected."""


class WriteRefused(StorageFault):
    """The database works, but refuses these rows or met others than expected. Nothing was written."""


class InDoubt(StorageFault):
    """The commit failed, or its answer was lost: the changes may be stored or not."""


class Begun(NamedTuple):
    """What a transaction knows at its start, read after its locks are held."""

    clock: int | None  # the database's clock in ms; None where the process has the clock
    last_pulse: int | None  # the latest good transaction of any process
    outages: list[Row]  # (since, until)
    # Where other processes write too: the stamps of the locked workspaces that have one, and an instant
    # before which nothing expires.
    stamps: Mapping[str, int] = {}
    due_from: int = 0
    token_floor: int = 0  # every fencing token is above it


class Wanted(NamedTuple):
    """What a batch needs: resources, agents and tenants by key, and all that is due in some workspaces."""

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
    """The row of a database about itself. `restored_at`, in ms, is when tokens were last raised after a
    restore, and `why` the reason."""

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
        """Start a transaction that holds the lock of each workspace until its end. `horizon`: the instant
        up to which to look for what is due; by default the database's time."""

    def load(self, want: Wanted, now: int) -> Loaded:
        """The wanted resources, with those that are due at `now` in the workspaces `due_in`; the wanted
        agents and tenants that are known."""

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        """The leases of the `active` resources; the waits and refusals of the `contended` ones."""

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        """(workspace, did, score in tenths, releases, expiries, moved_by) of the agents that are known."""

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        """The resources on every chain of waits that leaves one of these agents."""

    def refused(self, workspace: str) -> list[Row]:
        """(resource, agent) of every deadlock refusal that is remembered there."""

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        """Make the named writes. A guarded write that meets other rows than expected is a `StorageFault`."""

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        """Record that no process ran since `since`, unless another process has recorded it. Returns the
        row that is on record, or None when another process was running after all."""

    def commit(self, process: str | None, now: int) -> None:
        """Write the pulse of `process`, if one is named, and commit. All is durable when this returns. Raises
        InDoubt when the commit failed."""

    def rollback(self) -> None:
        """Undo, and be ready for the next transaction; never raises."""

    def reading(self) -> AbstractContextManager[Begun]:
        """A read-only transaction over one snapshot. It takes no locks and waits for none."""

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        """Names of resources with holders, waits or refusals, in the database's order, after a name."""

    def contended_names(self, workspace: str) -> list[str]:
        """Names of all resources with waits or refusals, in no order."""

    def names_of(self, workspace: str, agent: str) -> list[str]:
        """Names of the resources that an agent holds or waits for."""

    def outbox(self, limit: int, kids: Sequence[str]) -> AbstractContextManager[list[Row]]:
        """The oldest (receipt_id, workspace, kid, claims) that the ledger does not have yet and that one of
        these keys signs. Within the block other processes get no rows."""

    def outbox_size(self) -> tuple[int, int]:
        """How many rows wait for the ledger, and the bytes of their claims; outside a transaction."""

    def next_due(self) -> int | None:
        """The earliest instant at which time changes any resource; outside a transaction."""

    def due(self, now: int, limit: int) -> list[Row]:
        """(workspace, name, due_at) of the first `limit` resources that are due at `now`, in the order in
        which they became due; outside a transaction."""

    def latest(self) -> int:
        """The least time that it can be, in ms: the database's clock, or the latest pulse; 0 on an empty
        file. Raises StorageFault also when the file is no longer in its place."""

    def resources_after(self, after: Key, limit: int) -> list[Row]:
        """The next (workspace, name, due_at, used_at) of all resources in the order of their keys; outside a
        transaction."""

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        """Within a transaction that holds the workspace's lock: forget those of these resources that have
        been idle since then, and raise the workspace's floor above their tokens; returns how many."""

    def tenants_after(self, after: str, limit: int) -> list[str]:
        """The next workspaces that have a row in lease_tenant, in order; outside a transaction."""

    def forget_tenant(self, workspace: str, limit: int) -> int:
        """Within a transaction that holds the workspace's lock: drop up to `limit` rows of each kind of a
        workspace in which nothing is held or waited for, and its row in lease_tenant last; returns how many
        rows. The floor of `UNKNOWN` is raised above its tokens."""

    def forget_history(self, before: int, limit: int) -> int:
        """Within a transaction: drop outages and up to `limit` trust moves from before that instant; returns
        how many moves."""

    def forget_pulses(self, older_ms: int) -> None:
        """Within a transaction: drop the pulses of processes that are so much older than the latest."""

    # --- the database as a whole, outside a transaction -------------------------------------------

    def standing(self) -> Standing | None:
        """The row of the database about itself; None before an authority has started on it."""

    def pulse(self) -> int | None:
        """The latest pulse of any process, in ms."""

    def moved(self) -> str:
        """Why the database is a copy of the one in which `standing` was written; empty when it is not."""

    def token(self, workspace: str, resource: str) -> int | None:
        """The last fencing token of a resource, or the floor under it; None when its workspace is unknown."""

    def highest(self) -> int:
        """The highest fencing token on record, over all resources. It reads all of them."""

    def introduce(self, database_id: str) -> Standing:
        """Give the database its standing, unless it has one; returns what it has then."""

    def raise_floor(self, known: str, new: Standing, floor: Callable[[int], int]) -> Standing:
        """Replace the standing whose id is `known` (empty: none) by `new`, in one transaction during which no
        token is given. Its floor is `floor(highest)`, where `highest` is the highest token in the database.
        Does nothing when another process has replaced it already. Returns the standing after that."""

    def close(self) -> None:
        """Close the connection; never raises."""
