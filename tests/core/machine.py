"""A state machine that drives the core, the reference and, in a subclass, a store with the same commands."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from coordination.core.messages import Acquire, Command, Granted, Outcome, Release, Revoke, Withdraw
from coordination.core.model import Mode, Rules

from .compare import SMALL, Trio

AGENTS = st.sampled_from(["A", "B", "C", "D", "E"])
RESOURCES = st.sampled_from(["w", "x", "y", "z"])
MODES = st.sampled_from([Mode.EXCLUSIVE, Mode.EXCLUSIVE, Mode.SHARED])


class LeaseMachine(RuleBasedStateMachine):
    """Each rule is a command or a span of time; `Trio` checks every answer and every state."""

    constants: Rules = SMALL
    leases = Bundle("leases")  # (resource, agent, lease id) of every lease that was ever granted

    start = 0

    @initialize()
    def begin(self) -> None:
        self.trio = Trio(self.constants, start=self.start)
        self.number = 0

    def ask(self, command: Command) -> Outcome:
        return self.trio.ask(self.trio.now, command)

    def wait_until(self, now: int) -> None:
        self.trio.pass_time(now)

    def be_away_until(self, until: int) -> None:
        self.trio.outage(until)
        self.trio.pass_time(until)

    @rule(
        target=leases,
        agent=AGENTS,
        resource=RESOURCES,
        mode=MODES,
        queue=st.sampled_from([True, True, True, False]),
    )
    def acquire(self, agent: str, resource: str, mode: Mode, queue: bool) -> tuple[str, str, str]:
        self.number += 1
        outcome = self.ask(Acquire(resource, mode, agent, f"lse_{self.number}", queue))
        lease_id = outcome.lease.lease_id if isinstance(outcome, Granted) else f"lse_{self.number}"
        return resource, agent, lease_id

    @rule(lease=leases, with_id=st.booleans())
    def release(self, lease: tuple[str, str, str], with_id: bool) -> None:
        resource, agent, lease_id = lease
        self.ask(Release(resource, agent, lease_id if with_id else None))

    @rule(lease=leases, agent=AGENTS)
    def release_as_another(self, lease: tuple[str, str, str], agent: str) -> None:
        self.ask(Release(lease[0], agent, lease[2]))

    @rule(lease=leases)
    def withdraw(self, lease: tuple[str, str, str]) -> None:
        self.ask(Withdraw(lease[0], lease[1]))

    @rule(lease=leases)
    def revoke(self, lease: tuple[str, str, str]) -> None:
        self.ask(Revoke(lease[0], lease[2]))

    @rule(span=st.integers(1, 15))
    def let_time_pass(self, span: int) -> None:
        self.wait_until(self.trio.now + span)

    @rule(span=st.integers(1, 30))
    def go_away(self, span: int) -> None:
        self.be_away_until(self.trio.now + span)
