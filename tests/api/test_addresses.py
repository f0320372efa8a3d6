"""The address that a request comes from."""

import pytest

from intramedial.http.addresses import address_hash, client_address, counted_as
from intramedial.settings_parsers import networks

PROXIES = networks("10.0.0.0/8, ::1")


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),  # not a trusted proxy: its header is ignored
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "192.0.2.66, 198.51.100.1", "198.51.100.1"),  # the client wrote the first address itself
        ("10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.66, x, 10.0.0.2", "10.0.0.2"),
        ("::1", "2001:db8::1", "2001:db8::1"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_only_trusted_proxies_are_believed(peer, forwarded, found):
    assert client_address(peer, forwarded, PROXIES) == found


def test_without_proxies_it_is_the_peers_address():
    assert client_address("203.0.113.7", "198.51.100.1", []) == "203.0.113.7"


def test_the_hash_differs_by_address_and_hides_it():
    assert address_hash("203.0.113.7") == address_hash("203.0.113.7") != address_hash("203.0.113.8")
    assert "203" not in address_hash("203.0.113.7")[:8]


def test_an_ipv6_customer_is_one_address():
    assert address_hash("2001:db8:0:1::1") == address_hash("2001:db8:0:1:ffff::2")
    assert address_hash("2001:db8:0:1::1") != address_hash("2001:db8:0:2::1")


def test_connections_are_counted_by_network():
    proxies = networks("192.0.2.0/24,2001:db8:1::/48")
    assert counted_as("203.0.113.7", proxies) == counted_as("::ffff:203.0.113.7", proxies) == "203.0.113.7"
    assert (
        counted_as("2001:db8:2::1", proxies) == counted_as("2001:db8:2::ffff:1", proxies) == "2001:db8:2::/64"
    )
    assert counted_as("192.0.2.9", proxies) is counted_as("2001:db8:1::1", proxies) is None
    assert counted_as("", proxies) is None
