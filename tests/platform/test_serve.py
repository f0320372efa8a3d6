"""Starting and stopping the server, and the words with which it refuses to start."""

import socket

import pytest

from tests.server import command


def serve(data_dir, **env):
    """Run `serve` where it must refuse; returns what it says."""
    done = command("serve", env={"DATABASE_URL": "", "INTRAMEDIAL_DATA_DIR": str(data_dir), **env})
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_port_that_is_taken(bootstrapped):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"Cannot listen on 127.0.0.1:{port}" in serve(bootstrapped, PORT=port)


def test_databases_that_are_not_set_up(tmp_path):
    assert "make run" in serve(tmp_path)


def test_a_database_that_is_not_there(tmp_path):
    said = serve(tmp_path, DATABASE_URL="postgres://me:hunter2@127.0.0.1:1/none")
    assert "cannot be reached" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("env", "needs"),
    [
        ({}, ("PostgreSQL", "Redis")),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, ("PostgreSQL",)),
        ({"DATABASE_URL": "postgres://127.0.0.1:1/none"}, ("Redis",)),
    ],
)
def test_several_processes_need_what_lets_them_agree(bootstrapped, env, needs):
    said = serve(bootstrapped, WEB_PROCESSES="2", **env)
    assert "WEB_PROCESSES=2 needs" in said
    assert all((name in said) == (name in needs) for name in ("PostgreSQL", "Redis"))


def test_it_says_where_it_serves_and_stops_when_told(live_server_process):
    server = live_server_process()
    assert f"Serving {server.url}" in server.log
    assert server.terminate() == 0
    assert "Traceback" not in server.log


def test_several_processes_serve_together(live_server_process, postgres_url, redis_url):
    server = live_server_process(DATABASE_URL=postgres_url, REDIS_URL=redis_url, WEB_PROCESSES="2")
    assert server.terminate() == 0
    assert "Traceback" not in server.log
