"""How many statements a batch takes on PostgreSQL: as many for 256 commands as for one."""

from collections.abc import Iterator
from typing import Any

import pytest

from coordination.authority.expiry import RESOURCES_BESIDE
from coordination.core.messages import Withdraw
from coordination.core.model import Mode
from coordination.storage.engines.postgres.engine import PostgresEngine
from tests.store.authorities import PostgresDatabase, RunningAuthority, Time

MANY = 256
# BEGIN, locks, clock and pulses, outages, stamps; resources, agents, tenants; leases, waits, refusals; the
# reach of the agents and what is there; at most one for each of the named writes; pulse and COMMIT.
AT_MOST = 5 + 3 + 3 + 2 + 3 + 16 + 2


@pytest.fixture
def authority(postgres_database: PostgresDatabase, authority_clock: Time) -> Iterator[RunningAuthority]:
    authority = RunningAuthority(postgres_database.engine())
    yield authority
    authority.stop()


@pytest.mark.parametrize("kind", ["acquire", "renew", "refuse", "queue", "release", "expire", "mixed"])
async def test_statements_do_not_grow_with_the_batch(
    authority: RunningAuthority, authority_clock: Time, kind: str
) -> None:
    took = {}
    most = MANY if kind != "expire" else RESOURCES_BESIDE - 1  # expiry comes part by part
    for many in (1, most):
        asking = await prepared(authority, authority_clock, kind, many)
        took[many] = await count(authority, kind == "expire", *asking)
    print(f"{kind}: {took[1]} statements for one command, {took[most]} for {most}")
    assert took[most] <= (AT_MOST if kind == "mixed" else took[1] + 3)


async def test_remembered_worlds_are_not_read_again(authority: RunningAuthority) -> None:
    """A resource that was used before: BEGIN, locks, clock, outages, stamps; what is written; COMMIT."""
    written = {
        "acquire": ("resource", "lease", "workspace", "outbox"),
        "release": ("resource", "lease", "agent", "trust", "workspace", "outbox"),
    }
    for _ in range(3):
        took = {"acquire": await count(authority, False, authority.acquire("did:a"))}
        took["release"] = await count(authority, False, authority.release("did:a"))
    assert took == {verb: 5 + len(written[verb]) + 1 for verb in written}


async def count(authority: RunningAuthority, late: bool, *asking: Any) -> int:
    engine = authority.store.engine
    assert isinstance(engine, PostgresEngine)
    begun = [0]

    def begin(*asked: Any) -> Any:
        begun[0] += 1
        return real(*asked)

    real = engine.begin
    engine.begin = begin
    before = engine.statements
    outcomes = await authority.together(*asking)
    engine.begin = real
    assert not [one for one in outcomes if isinstance(one, Exception)]
    assert begun[0] == (2 if late else 1)  # expiry comes first where something is due
    return engine.statements - before


async def prepared(authority: RunningAuthority, authority_clock: Time, kind: str, many: int) -> list[Any]:
    """Commands of one kind, on resources and in workspaces of their own."""
    ways = {"workspace": f"ws_{kind}_{many}"}
    names = [f"lock:{number}" for number in range(many)]
    if kind != "acquire":
        await authority.together(*(authority.acquire(f"did:{name}", name, **ways) for name in names))
    match kind:
        case "acquire" | "renew":
            return [authority.acquire(f"did:{name}", name, **ways) for name in names]
        case "refuse":
            return [authority.acquire("did:b", name, queue=False, **ways) for name in names]
        case "queue":
            return [authority.acquire(f"did:b:{name}", name, **ways) for name in names]
        case "release":
            return [authority.release(f"did:{name}", name, **ways) for name in names]
        case "expire":
            return [late(authority.acquire("did:b", "lock:other", **ways), authority_clock)]
        case _:
            return mixed(authority, names, ways)


async def late(asking: Any, authority_clock: Time) -> Any:
    """Ask when all leases have expired and none has been reclaimed."""
    authority_clock.passes(30_000)
    return await asking


def mixed(authority: RunningAuthority, names: list[str], ways: dict[str, str]) -> list[Any]:
    """Everything at once, with chains of waits and deadlocks."""
    asking: list[Any] = []
    for number, name in enumerate(names):
        after = names[(number + 1) % len(names)]
        match number % 4:
            case 0:
                asking.append(authority.acquire(f"did:{name}", after, **ways))
            case 1:
                asking.append(authority.release(f"did:{name}", name, **ways))
            case 2:
                asking.append(authority.acquire(f"did:new:{name}", f"doc:{name}", Mode.SHARED, **ways))
            case _:
                asking.append(authority.ask(Withdraw(after, f"did:{name}"), ways["workspace"]))
    return asking
