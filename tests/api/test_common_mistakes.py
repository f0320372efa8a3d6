"""Mistakes that REST clients often make: the answer says what to change."""

import http.client
import json

import pytest

from tests.api.client import LEASE, WAIT


@pytest.mark.parametrize(("method", "path"), [("POST", LEASE), ("GET", WAIT), ("GET", WAIT + "/")])
def test_two_slashes_after_the_host_are_named(live_server_process, method, path):
    """A base URL that ends in a slash, joined with a path."""
    connection = http.client.HTTPConnection("127.0.0.1", live_server_process().port, timeout=20)
    connection.request(method, f"/{path}", b"{}" if method == "POST" else None)
    answer = connection.getresponse()
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert f"Did you mean {path.rstrip('/')}?" in json.load(answer)["detail"]
    connection.close()
