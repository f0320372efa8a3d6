"""A line of the log is a JSON object, names its request, and has no secrets."""

import json
import logging

import pytest
from django.test import Client

from intramedial.http import logs
from intramedial.workspaces import keys


def line(message, *args, **extra):
    """The JSON object of a log record."""
    record = logging.getLogger("test").makeRecord(
        "test", logging.INFO, __file__, 1, message, args, None, extra=extra
    )
    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


def test_a_line_has_instant_level_logger_and_message():
    found = line("granted %s", "lock:a", workspace="ws_1", ms=1.5)
    assert found["at"].endswith("Z")
    assert found | {"at": ""} == {
        "at": "",
        "level": "info",
        "logger": "test",
        "message": "granted lock:a",
        "workspace": "ws_1",
        "ms": 1.5,
    }


def test_a_line_inside_a_request_has_its_id():
    token = logs.request_id.set("req_1")
    try:
        assert line("x")["requestId"] == "req_1"
    finally:
        logs.request_id.reset(token)
    assert "requestId" not in line("x")


@pytest.mark.parametrize(
    "text",
    [
        f"key {keys.make_key().secret} refused",
        "Authorization: Bearer hunter2hunter2",
        "postgres://me:hunter2@db/name",
    ],
    ids=["API key", "Bearer", "password in an address"],
)
def test_secrets_are_masked(text):
    found = line("%s", text)["message"]
    assert "[secret]" in found
    assert "hunter2" not in found
    assert not any(keys.well_formed(word) for word in found.split())


def test_a_message_of_several_lines_stays_one_line():
    assert line("a\nb")["message"] == "a\nb"


def test_a_lone_surrogate_is_logged_and_not_raised():
    assert "x" in line("x \ud800")["message"]


def test_a_request_is_one_line_without_its_query(caplog):
    with caplog.at_level(logging.INFO, "intramedial.access"):
        answer = Client().get("/acceso/?token=hunter2")
    (record,) = [record for record in caplog.records if record.name == "intramedial.access"]
    assert (record.method, record.path, record.status) == ("GET", "/acceso/", 200)
    assert answer["X-Request-ID"]
    assert "hunter2" not in str(vars(record))
