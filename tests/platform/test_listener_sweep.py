"""Which connection is closed for a new one, and when deadlines pass, without a clock and sockets."""

import asyncio
from typing import Any

import pytest
from django.conf import settings

from intramedial.server import listener as listening
from intramedial.server.listener import (
    HANDSHAKE_BURST,
    HANDSHAKES_PER_S,
    LINGERING,
    RESERVED_DESCRIPTORS,
    Limits,
    Listener,
    PageTurns,
)
from intramedial.settings_parsers import networks

NEVER = 1 << 60


class Loop:
    """A loop that keeps the calls for later."""

    def __init__(self) -> None:
        self.later: list[Any] = []

    def call_later(self, seconds: float, call: Any, *given: Any) -> object:
        self.later.append((seconds, call, given))
        return object()


class Connection:
    """A connection that records what happens to it."""

    def __init__(self, name: str = "", known: bool = False) -> None:
        self.name = name
        self.due = NEVER
        self.idle, self.used, self.known = True, False, known
        self.arrived = False
        self.endings: list[str] = []

    def unread(self) -> bool:
        return self.arrived

    def expire(self) -> None:
        self.endings.append("expired")

    def evict(self) -> None:
        self.endings.append("evicted")


def make(connections: int = 4, of_address: int = 100, descriptors: int = 10_000) -> Listener:
    limits = Limits(connections, of_address, 16_384, 262_144, 10, 30, 30, 10)
    return Listener(Loop(), limits, descriptors)


def used(listener: Listener, name: str, peer: str, last: int, known: bool = False) -> Connection:
    """A connection that has been used and is now idle."""
    connection = Connection(name, known)
    assert listener.admit(connection, peer, 0)
    listener.begun(connection)
    connection.used, connection.due = True, last
    return connection


def newcomers(listener: Listener, count: int, peer: str = "203.0.113.9") -> list[bool]:
    """So many connections arrive and begin a request at once; returns which are admitted."""
    admitted = []
    for _ in range(count):
        busy = Connection("newcomer")
        admitted.append(listener.admit(busy, peer, 0))
        listener.begun(busy)
        busy.idle = False
    return admitted


def order(*connections: Connection, listener: Listener) -> list[str]:
    """The order in which connections are closed for new ones."""
    closed: list[str] = []
    while len(closed) < len(connections):
        assert newcomers(listener, 1) == [True]
        closed += [c.name for c in connections if c.endings and c.name not in closed]
    return closed


def test_unused_connections_go_first_then_idle_ones_then_those_with_credentials() -> None:
    listener = make(connections=7)
    known = used(listener, "known", "192.0.2.1", last=1, known=True)
    alone = used(listener, "alone", "192.0.2.2", last=2)
    crowd = [used(listener, f"crowd {last}", "192.0.2.3", last) for last in (9, 8)]
    lately = used(listener, "known lately", "192.0.2.1", last=20, known=True)
    fresh = [Connection("fresh 1"), Connection("fresh 2")]
    for connection in fresh:
        assert listener.admit(connection, "192.0.2.1", 0)
    everyone = (*fresh, *crowd, alone, known, lately)
    expected = ["fresh 1", "fresh 2", "crowd 8", "alone", "crowd 9", "known", "known lately"]
    assert order(*everyone, listener=listener) == expected
    assert newcomers(listener, 1) == [False]  # all connections are busy


def test_a_connection_with_an_unread_request_is_skipped_once() -> None:
    """In a flood the server accepts all connections that have arrived before it reads from one."""
    listener = make(connections=3)
    silent, asking, late = (Connection(name) for name in ("silent", "asking", "late"))
    asking.arrived = True
    for connection in (asking, silent, late):
        assert listener.admit(connection, "192.0.2.1", 0)
    closed = []
    for _ in range(3):
        listener.admit(Connection("newcomer"), "192.0.2.9", 0)
        closed += [c.name for c in (silent, asking, late) if c.endings and c.name not in closed]
    assert closed == ["silent", "late", "asking"]


def test_when_all_connections_have_unread_requests_the_oldest_goes() -> None:
    listener = make(connections=3)
    everyone = [Connection(str(number)) for number in range(6)]
    for connection in everyone:
        connection.arrived = True
        assert listener.admit(connection, "192.0.2.1", 0)
    assert [c.name for c in everyone if c.endings] == ["0", "1", "2"]


def test_waiting_requests_make_room_before_connections_with_credentials() -> None:
    """The newest goes first: otherwise all wait in vain in a flood. A request that is answered now stays."""

    async def scenario() -> None:
        listener = make(connections=4)
        known = used(listener, "known", "192.0.2.1", last=1, known=True)
        asking = [Connection(f"page {number}") for number in range(3)]
        listener.page_turns = PageTurns(1)
        tasks = []
        for connection in asking:
            assert listener.admit(connection, "192.0.2.1", 0)
            listener.begun(connection)
            connection.idle = False
            tasks.append(asyncio.ensure_future(listener.page_turns.take(connection)))
            await asyncio.sleep(0)
        assert order(*asking[1:], known, listener=listener) == ["page 2", "page 1", "known"]
        assert newcomers(listener, 1) == [False]
        assert asking[0].endings == []
        for _ in asking:
            listener.page_turns.end()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())


def test_silent_connections_do_not_close_a_used_one() -> None:
    listener = make(connections=10, of_address=8)
    tenant = used(listener, "tenant", "192.0.2.1", last=0)
    silent = [Connection() for _ in range(5000)]
    assert all(listener.admit(connection, "192.0.2.1", 0) for connection in silent)
    assert tenant.endings == []
    assert sum(not connection.endings for connection in silent) == 7


def test_an_address_makes_room_among_its_own_connections() -> None:
    listener = make(connections=100, of_address=2)
    others = [Connection() for _ in range(5)]
    for number, connection in enumerate(others):
        assert listener.admit(connection, f"192.0.2.{number}", 0)
    own = [Connection() for _ in range(3)]
    assert all(listener.admit(connection, "203.0.113.1", 0) for connection in own)
    assert [connection.endings for connection in own] == [["evicted"], [], []]
    assert not any(connection.endings for connection in others)


def test_an_ipv6_network_of_64_bits_is_one_address() -> None:
    listener = make(connections=100, of_address=1)
    first, second, third = Connection(), Connection(), Connection()
    assert listener.admit(first, "2001:db8:0:1::1", 0) and listener.admit(second, "2001:db8:0:2::1", 0)
    assert listener.admit(third, "2001:db8:0:1:ffff::2", 0)
    assert (first.endings, second.endings) == (["evicted"], [])


def test_a_trusted_proxy_has_connections_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "TRUSTED_PROXIES", networks("192.0.2.0/24"))
    listener = make(connections=100, of_address=1)
    through = [Connection() for _ in range(50)]
    assert all(listener.admit(connection, "192.0.2.7", 0) for connection in through)
    assert not any(connection.endings for connection in through)


def test_live_sockets_are_not_counted_but_bounded_by_descriptors() -> None:
    listener = make(connections=3, of_address=3, descriptors=1000 + RESERVED_DESCRIPTORS)
    idle = Connection()
    assert listener.admit(idle, "192.0.2.2", 0)
    for _ in range(999):
        live = Connection()
        live.idle = False
        assert listener.admit(live, "192.0.2.1", 0)
        listener.begun(live)
        listener.uncount(live)
    assert idle.endings == []
    assert newcomers(listener, 2) == [True, False]  # the first takes the place of the idle one
    assert idle.endings == ["evicted"]


def test_a_connection_with_one_of_the_last_descriptors_makes_room() -> None:
    """It does so even if other parts took the reserved descriptors."""
    listener = make(connections=100, descriptors=1024)
    first = Connection()
    assert listener.admit(first, "192.0.2.1", 20)
    assert listener.admit(Connection(), "192.0.2.1", 1010)
    assert first.endings == ["evicted"]


def test_a_connection_that_leaves_makes_room() -> None:
    listener = make(connections=2, of_address=2)
    busy = [Connection(), Connection()]
    for connection in busy:
        assert listener.admit(connection, "192.0.2.1", 0)
        listener.begun(connection)
        connection.idle = False
    assert newcomers(listener, 1, "192.0.2.1") == [False]
    listener.leave(busy[0])
    listener.leave(busy[0])
    assert newcomers(listener, 2, "192.0.2.1") == [True, False]


def test_refused_connections_are_not_counted_and_few_linger() -> None:
    listener = make(connections=1)
    refused = [Connection() for _ in range(LINGERING + 2)]
    for connection in refused:
        assert listener.admit(connection, "192.0.2.1", 0)
        listener.linger(connection)
    assert [connection.endings for connection in refused[:3]] == [["evicted"], ["evicted"], []]
    assert newcomers(listener, 1) == [True]


def test_deadlines_are_counted_in_sweeps() -> None:
    listener = make()
    soon, later = Connection(), Connection()
    for connection, due in ((soon, 2), (later, 3)):
        listener.watch(connection)
        connection.due = due
    counts = []
    for _ in range(3):
        listener.expire(listener.sweep())
        counts.append((len(soon.endings), len(later.endings)))
    assert counts == [(0, 0), (1, 0), (2, 1)]


def test_a_connection_read_after_the_sweep_does_not_expire() -> None:
    """A process that was stopped reads what arrived meanwhile before it closes connections."""
    listener = make()
    connection = Connection()
    listener.watch(connection)
    connection.due = 1
    due = listener.sweep()
    assert due == [connection]
    connection.due = 9  # its data had arrived
    listener.expire(due)
    assert connection.endings == []


def test_one_timer_for_all_and_none_without_connections() -> None:
    listener = make()
    members = [Connection() for _ in range(3)]
    for member in members:
        listener.watch(member)
    loop = listener.loop
    assert len(loop.later) == 1
    seconds, call, _ = loop.later.pop()
    assert seconds == listening.SWEEP_S
    call()
    assert len(loop.later) == 1
    for member in members:
        listener.leave(member)
    loop.later.pop()[1]()
    assert loop.later == []
    listener.watch(members[0])
    assert len(loop.later) == 1


def test_failed_handshakes_have_a_rate_for_each_address() -> None:
    listener = make()
    for _ in range(HANDSHAKE_BURST):
        assert listener.may_shake_hands("192.0.2.1")
        listener.handshake_failed("192.0.2.1")
    assert not listener.may_shake_hands("192.0.2.1")
    assert listener.may_shake_hands("192.0.2.2")
    listener.sweep()
    for _ in range(HANDSHAKES_PER_S):
        assert listener.may_shake_hands("192.0.2.1")
        listener.handshake_failed("192.0.2.1")
    assert not listener.may_shake_hands("192.0.2.1")
    for number in range(listening.HANDSHAKE_ADDRESSES + 10):  # the number of addresses in memory is bounded
        listener.handshake_failed(f"10.0.{number // 256}.{number % 256}")
    assert len(listener._handshakes) == listening.HANDSHAKE_ADDRESSES
