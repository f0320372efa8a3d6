"""All connections of one server process: how many there may be, and how long each may stay in one state.

Theory of operation
===================

A client that opens many sockets must not be able to use up the process. So each connection has one integer,
`due`: the number of the sweep at which it expires if nothing happens. A timer sweeps all connections once a
second. It counts sweeps and reads no clock, so connections do not age while the process is stopped or its
event loop stalls. The sweep runs before the loop has read what arrived in the meantime. So the connections
that are due are checked again a moment later: by then the loop has read what was waiting, and those are not
due any more.

When there are too many connections, the listener closes one to make room for the new one, in this order:

1. connections that have never completed a request, the oldest first; one whose request has arrived but was
   not read yet is passed over once;
2. idle connections of callers without a valid credential: those of the address that has most of them, and
   among these the one that was used longest ago;
3. connections whose request for a page waits for its turn (`PageTurns`), the newest first;
4. idle connections of callers with a valid credential, the one that was used longest ago.

When there is none of these, the new connection is refused with 503. An admitted live socket does not count,
since each workspace has its own limit of live sockets; it still uses a descriptor. Some descriptors are
reserved for databases, files and logs.
"""

import asyncio
import contextlib
import logging
import resource
import sys
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

from django.conf import settings
from uvicorn.server import ServerState

from intramedial.http import addresses
from intramedial.http.rates import Buckets

logger = logging.getLogger(__name__)

SWEEP_S = 1.0
READ_FIRST_S = 0.02
"""How long after a sweep the connections that are due expire. The event loop reads in between."""

RESERVED_DESCRIPTORS = 96
"""Descriptors that no connection gets. They are for databases, their logs and locks, and files being
served."""
LAST_DESCRIPTORS = 24
"""When a connection gets one of these last descriptors, something else uses more than the reserve."""

PAGES_AT_ONCE = 4
"""Requests for pages that run at once. Each has a thread, and each running thread delays leases."""

LINGERING = 32
"""Refused connections that may stay open at once until their clients have read the refusal."""

HANDSHAKE_BURST, HANDSHAKES_PER_S = 40, 4
"""Live socket handshakes that may fail from one address: at once, and a second in the long run."""
HANDSHAKE_ADDRESSES = 4096


class Member(Protocol):
    """A connection as the listener sees it: `protocol.Protocol` or `websocket.SocketProtocol`."""

    due: int
    used: bool  # it has completed a request
    known: bool  # it has shown a valid credential

    @property
    def idle(self) -> bool:
        """Whether it runs no request and is no admitted live socket."""

    def unread(self) -> bool:
        """Whether its client has sent bytes that were not read yet."""

    def expire(self) -> None:
        """`due` has come."""

    def evict(self) -> None:
        """Close it to make room for another connection."""


class Limits(NamedTuple):
    """The limits of a listener, from the settings: counts, bytes and seconds."""

    connections: int
    of_address: int
    api_body: int
    page_body: int
    head_s: int
    body_s: int
    unread_s: int
    look_s: int  # how often the listener checks whether a client takes its answer


def limits() -> Limits:
    """The limits that the operator has set."""
    return Limits(
        settings.CONNECTIONS,
        settings.ADDRESS_CONNECTIONS,
        settings.BODY_LIMIT,
        settings.PAGE_BODY_LIMIT,
        settings.HEAD_SECONDS,
        settings.BODY_SECONDS,
        settings.UNREAD_SECONDS,
        max(1, settings.UNREAD_SECONDS // 3),
    )


class PageTurns:
    """Lets `count` requests for pages run at once. The others wait, first come, first served."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)
        self.waiting: dict[Member, None] = {}
        """Connections whose requests wait, the longest waiting one first."""

    async def take(self, member: Member) -> None:
        """Wait for a turn. The caller ends it with `end`."""
        self.waiting[member] = None
        try:
            await self._free.acquire()
        finally:
            self.waiting.pop(member, None)

    def end(self) -> None:
        """End a turn."""
        self._free.release()


class Listener:
    """The connections of one event loop. `descriptors` is the process's soft limit of open files."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits, descriptors: int) -> None:
        self.loop = loop
        self.limits = limits
        self.tick = 0  # sweeps so far
        self.page_turns = PageTurns(PAGES_AT_ONCE)
        self.large_bodies = 0  # bytes reserved for large bodies that are still arriving
        self._descriptors = max(8, descriptors - RESERVED_DESCRIPTORS)  # connections may have so many
        self._last = descriptors - LAST_DESCRIPTORS
        self._members: dict[Member, None] = {}  # all
        self._counted: dict[Member, str | None] = {}  # those that count, with the address they count for
        # Those whose first request has not begun, the oldest first, with whether they were passed over.
        self._fresh: dict[Member, bool] = {}
        self._lingering: dict[Member, None] = {}  # those that were refused, the oldest first
        self._of_address: Counter[str] = Counter()
        self._handshakes = Buckets(HANDSHAKE_BURST, HANDSHAKES_PER_S, HANDSHAKE_ADDRESSES)
        self._timer: asyncio.TimerHandle | None = None

    # --- coming and going ----------------------------------------------------------------------------------

    def admit(self, member: Member, peer: str, descriptor: int) -> bool:
        """Add a new connection. When there are too many, close an idle one, or return False if none is
        idle."""
        address = addresses.counted_as(peer, settings.TRUSTED_PROXIES)
        if not self._make_room(address, descriptor):
            return False
        self._counted[member] = address
        self._fresh[member] = False
        if address is not None:
            self._of_address[address] += 1
        self.watch(member)
        return True

    def watch(self, member: Member) -> None:
        """Watch the deadlines of a connection. It counts against no limit."""
        self._members[member] = None
        if self._timer is None:
            self._timer = self.loop.call_later(SWEEP_S, self._on_timer)

    def take_over(self, member: Member, successor: Member) -> None:
        """Let `successor` have the connection, and count in the place of `member`."""
        counted = member in self._counted
        address = self._counted.get(member)
        self.leave(member)
        if counted:
            self._counted[successor] = address
            if address is not None:
                self._of_address[address] += 1
        self.watch(successor)

    def begun(self, member: Member) -> None:
        """Note that its first request is being served."""
        self._fresh.pop(member, None)

    def uncount(self, member: Member) -> None:
        """Stop counting it against every limit except that of descriptors."""
        address = self._counted.pop(member, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def linger(self, member: Member) -> None:
        """Keep a refused connection until its client has read the refusal; if there are too many, close the
        oldest."""
        self.uncount(member)
        self._fresh.pop(member, None)
        self._lingering[member] = None
        self.watch(member)
        if len(self._lingering) > LINGERING:
            oldest = next(iter(self._lingering))
            self.leave(oldest)
            oldest.evict()

    def leave(self, member: Member) -> None:
        """Remove a connection that is closed or about to be closed."""
        self.uncount(member)
        for members in (self._members, self._fresh, self._lingering, self.page_turns.waiting):
            members.pop(member, None)

    # --- too many ------------------------------------------------------------------------------------------

    def _make_room(self, address: str | None, descriptor: int) -> bool:
        if address is not None and self._of_address[address] >= self.limits.of_address:
            kind, setting, own = "connections of one address", "INTRAMEDIAL_ADDRESS_CONNECTIONS", address
        elif len(self._counted) >= self.limits.connections:
            kind, setting, own = "connections", "INTRAMEDIAL_CONNECTIONS", None
        elif len(self._members) >= self._descriptors or descriptor > self._last:
            kind, setting, own = "descriptors", "the limit of open files (ulimit -n)", None
        else:
            return True
        victim = self._idlest(own)
        done = "an idle one was closed" if victim is not None else "a new one was refused"
        logger.warning(
            "the limit of %s was reached and %s; %s raises it",
            *(kind, done, setting),
            extra={"kind": f"limit of {kind}: {done}"},
        )
        if victim is None:
            return False
        self.leave(victim)
        victim.evict()
        return True

    def _idlest(self, address: str | None) -> Member | None:
        """The idle connection to close for a new one, or None; with `address`, one of that address."""
        if (unused := self._unused(address)) is not None:
            return unused
        idle = [m for m, of in self._counted.items() if m.idle and (address is None or of == address)]
        victim = min(idle, key=self._worth, default=None)
        if victim is not None and not victim.known:
            return victim
        for member in reversed(self.page_turns.waiting):
            if member in self._counted and (address is None or self._counted[member] == address):
                return member
        return victim

    def _unused(self, address: str | None) -> Member | None:
        """The oldest connection whose first request has not begun, or None. In a flood many connections are
        accepted before any is read, so a connection with bytes to read goes to the end of the queue once."""
        oldest = None
        for member in list(self._fresh):
            if address is not None and self._counted.get(member) != address:
                continue
            if self._fresh[member] or not member.unread():
                return member
            del self._fresh[member]
            self._fresh[member] = True
            oldest = oldest or member
        return oldest

    def _worth(self, member: Member) -> tuple[bool, bool, int, int]:
        of = self._of_address[self._counted[member] or ""]
        return (member.known, member.used, 0 if member.known else -of, member.due)

    # --- handshakes ----------------------------------------------------------------------------------------

    def may_shake_hands(self, address: str) -> bool:
        """Whether clients of this address may try another live socket, after those that failed."""
        return self._handshakes.left(addresses.counted_as(address, ()) or "", self.tick) >= 1

    def handshake_failed(self, address: str) -> None:
        """Note that a client of this address asked for a live socket and was not admitted."""
        self._handshakes.take(addresses.counted_as(address, ()) or "", self.tick)

    # --- deadlines -----------------------------------------------------------------------------------------

    def sweep(self) -> list[Member]:
        """Count one more second, and return the connections that are due now."""
        self.tick += 1
        tick = self.tick
        return [member for member in self._members if member.due <= tick]

    def expire(self, due: Iterable[Member]) -> None:
        """Expire those that are still due."""
        for member in due:
            if member.due <= self.tick and member in self._members:
                member.expire()

    def _on_timer(self) -> None:
        due = self.sweep()
        if due:
            self.loop.call_later(READ_FIRST_S, self.expire, due)
        self._timer = self.loop.call_later(SWEEP_S, self._on_timer) if self._members else None


_listeners: WeakKeyDictionary[ServerState, Listener] = WeakKeyDictionary()


def listener_of(state: ServerState, loop: asyncio.AbstractEventLoop) -> Listener:
    """The listener of a server, which is made at the first connection and ends with the server."""
    found = _listeners.get(state)
    if found is None:
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if descriptors == resource.RLIM_INFINITY:
            descriptors = sys.maxsize
        found = Listener(loop, limits(), descriptors)
        _listeners[state] = found
    return found


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard one, and return the new soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems refuse their own "unlimited"
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
