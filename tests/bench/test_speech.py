"""Where an answer ends, and the bytes of requests."""

import json

import pytest

from tests.bench.speech import Fault, Reply, get, http_reply, post, resp, resp_reply
from tests.bench.watch import _frame_length

ANSWER = b'HTTP/1.1 409 Conflict\r\nContent-Length: 11\r\ncontent-type: application/json\r\n\r\n{"ok":false'
LAST = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


def test_a_post_has_a_content_length():
    head, _, body = post("/path", {"a": "é"}, "Authorization: Bearer x").partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /path HTTP/1.1"
    assert b"Authorization: Bearer x" in lines
    assert b"Content-Length: %d" % len(body) in lines
    assert json.loads(body) == {"a": "é"}


def test_a_get_has_no_body():
    assert get("/path").endswith(b"\r\n\r\n")
    assert b"Content-Length" not in get("/path")


@pytest.mark.parametrize("length", range(len(ANSWER)))
def test_an_incomplete_answer_is_none(length):
    assert http_reply(ANSWER[:length]) is None


def test_a_complete_answer_has_its_status_and_body():
    assert http_reply(ANSWER) == Reply(b"409", b'{"ok":false')
    assert http_reply(LAST) == Reply(b"200", b"{}")


def test_an_answer_without_a_length_is_a_fault():
    with pytest.raises(Fault, match="without a length"):
        http_reply(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")


def test_a_command_of_redis_counts_bytes():
    assert resp("SET", "é") == b"*2\r\n$3\r\nSET\r\n$2\r\n\xc3\xa9\r\n"


def test_an_answer_of_redis_ends_with_its_line():
    assert resp_reply(b"+O") is None
    assert resp_reply(b"+OK\r\n") == Reply(b"+", b"OK")
    assert resp_reply(b":1\r\n") == Reply(b":", b"1")
    assert resp_reply(b"$-1\r\n") == Reply(b"$", b"-1")
    assert resp_reply(b"$3\r\n") is None
    assert resp_reply(b"$3\r\nabc\r\n") == Reply(b"$", b"3\r\nabc")


@pytest.mark.parametrize("payload", [0, 125, 126, 65_535, 65_536, 100_000])
def test_the_length_of_a_socket_frame_is_read_from_its_head(payload):
    if payload < 126:
        head = bytes([0x81, payload])
    elif payload < 65_536:
        head = b"\x81\x7e" + payload.to_bytes(2)
    else:
        head = b"\x81\x7f" + payload.to_bytes(8)
    assert _frame_length(head + b"x" * payload) == len(head) + payload
    assert _frame_length(head[:1]) is None
