"""The address that a request comes from, for limits. It is stored only as a keyed hash."""

import ipaddress
from collections.abc import Sequence

from django.utils.crypto import salted_hmac

from intramedial.settings_parsers import Network

# One customer usually has a whole IPv6 /64, and often gets a whole /48 on request.
IPV6_PREFIX = 64
IPV6_SITE = 48


def client_address(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """The address of the client, or "" if there is none (a Unix socket).

    `peer` is the other end of the connection, `forwarded_for` the request's `X-Forwarded-For`. An entry of it
    counts only if the next hop to its right is a trusted proxy; the last hop is `peer`.
    """
    address = _parse(peer)
    for entry in reversed(forwarded_for.split(",")):
        if address is None or not any(address in network for network in trusted):
            break
        before = _parse(entry.strip())
        if before is None:
            break
        address = before
    return "" if address is None else str(address)


def counted_as(peer: str, trusted: Sequence[Network]) -> str | None:
    """The key under which connections of `peer` are counted: its IPv4 address or its IPv6 /64. None for a
    trusted proxy, which has connections of many clients, and for a peer without an address (a Unix
    socket)."""
    parsed = _parse(peer)
    if parsed is None or any(parsed in network for network in trusted):
        return None
    return _network(parsed, IPV6_PREFIX)


def address_hash(address: str) -> str:
    """A keyed hash of an IPv4 address or an IPv6 /64. It shows whether two are the same, and nothing else."""
    parsed = _parse(address)
    return _hash(address if parsed is None else _network(parsed, IPV6_PREFIX))


def site_hash(address: str) -> str:
    """A keyed hash of an address's IPv6 /48. "" for an IPv4 address."""
    parsed = _parse(address)
    return _hash(_network(parsed, IPV6_SITE)) if isinstance(parsed, ipaddress.IPv6Address) else ""


def _hash(text: str) -> str:
    return salted_hmac("intramedial.address", text, algorithm="sha256").hexdigest()


def _network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, prefix: int) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, prefix), strict=False))


def _parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
