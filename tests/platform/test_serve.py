"""Starting and stopping the server, and the texts with which it refuses to start."""

import socket

import pytest

from tests.server import command


def serve(data_dir, **env):
    """Run `serve` where it must refuse to start; returns what it prints."""
    done = command("serve", env={"DATABASE_URL": "", "INTRAMEDIAL_DATA_DIR": str(data_dir), **env})
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_port_in_use_is_refused(bootstrapped):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"Cannot listen on 127.0.0.1:{port}" in serve(bootstrapped, PORT=port)


def test_databases_that_are_not_set_up_are_refused(tmp_path):
    assert "make run" in serve(tmp_path)


def test_a_database_that_cannot_be_reached_is_refused(tmp_path):
    output = serve(tmp_path, DATABASE_URL="postgres://me:hunter2@127.0.0.1:1/none")
    assert "cannot be reached" in output
    assert "hunter2" not in output


@pytest.mark.parametrize(
    ("env", "needs"),
    [
        ({}, ("PostgreSQL", "Redis")),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, ("PostgreSQL",)),
        ({"DATABASE_URL": "postgres://127.0.0.1:1/none"}, ("Redis",)),
    ],
)
def test_several_processes_need_postgresql_and_redis(bootstrapped, env, needs):
    output = serve(bootstrapped, WEB_PROCESSES="2", **env)
    assert "WEB_PROCESSES=2 needs" in output
    assert all((name in output) == (name in needs) for name in ("PostgreSQL", "Redis"))


def test_it_prints_its_address_and_stops_at_a_signal(live_server_process):
    server = live_server_process()
    assert f"Serving {server.url}" in server.log
    assert server.terminate() == 0
    assert "Traceback" not in server.log


def test_several_processes_serve_together(live_server_process, postgres_url, redis_url):
    server = live_server_process(DATABASE_URL=postgres_url, REDIS_URL=redis_url, WEB_PROCESSES="2")
    assert server.terminate() == 0
    assert "Traceback" not in server.log
