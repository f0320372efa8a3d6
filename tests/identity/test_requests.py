"""The parts of a request, taken from an ASGI scope."""

from intramedial.http.calls import RequestParts, join_fields


def test_the_parts_are_those_of_the_scope():
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/a/b",
        "raw_path": b"/a%2Fb",
        "query_string": b"x=%20+",
        "headers": [(b"Content-Type", b"application/json")],
        "client": ("192.0.2.1", 1234),
    }
    assert RequestParts.from_scope(scope, b"{}") == RequestParts(
        "POST", b"/a%2Fb", b"x=%20+", {"content-type": "application/json"}, b"{}", "192.0.2.1"
    )


def test_a_web_socket_has_the_method_get():
    parts = RequestParts.from_scope({"type": "websocket", "path": "/ws/", "headers": []})
    assert (parts.method, parts.raw_path, parts.query, parts.client) == ("GET", b"/ws/", b"", "")


def test_the_address_behind_a_proxy_can_be_given():
    scope = {"path": "/", "headers": [], "client": ("192.0.2.1", 1)}
    assert RequestParts.from_scope(scope, client="198.51.100.7").client == "198.51.100.7"


def test_lines_of_one_header_field_are_joined_in_order():
    lines = [(b"signature", b" a=:AA==: "), (b"x", b"1"), (b"Signature", b"b=:AB==:"), (b"y", b"\xf1")]
    assert join_fields(lines) == {"signature": "a=:AA==:, b=:AB==:", "x": "1", "y": "ñ"}


def test_secrets_are_in_no_repr():
    parts = RequestParts("GET", b"/", b"", {"authorization": "Bearer imk_secret"}, b"secret body")
    assert "secret" not in repr(parts)
