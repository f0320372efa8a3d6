"""Settings have the defaults of the contract, and malformed values are refused at the start."""

import os
import stat
import subprocess
import sys
from decimal import Decimal
from ipaddress import ip_network
from typing import get_origin, get_type_hints

import pytest

from intramedial import databases
from intramedial import settings as settings_module
from intramedial import settings_parsers as parsers
from intramedial.settings import base_url, read, secret_key
from intramedial.settings_table import TABLE, BadSetting
from tests.server import ROOT, command

CONTRACT = {
    "HOST": "127.0.0.1",
    "PORT": 8000,
    "WEB_PROCESSES": 1,
    "REDIS_URL": "",
    "DEBUG": False,
    "LEASE_TTL_MS": 30_000,
    "OFFER_MS": 2_000,
    "WAIT_TTL_MS": 35_000,
    "STAMPEDE_BASE_MS": 25,
    "STAMPEDE_CAP_MS": 800,
    "QUEUE_LIMIT": 8,
    "TRUST_START": Decimal("50.0"),
    "TRUST_RELEASE": Decimal("0.5"),
    "TRUST_EXPIRY": Decimal("-5.0"),
    "TRIAL_CALLS": 35,
    "TRIAL_DAYS": 7,
    "TRIAL_AGENTS": 8,
    "TRIALS_PER_HOUR": 10,
    "TRIAL_RESOURCES": 50,
    "TRIAL_SOCKETS": 3,
    "BODY_LIMIT": 16 * 1024,
    "JSON_DEPTH": 16,
    "WORKSPACE_RESOURCES": 10_000,
    "WORKSPACE_SOCKETS": 1_000,
    "SOCKET_FRAME": 16 * 1024,
    "WORKSPACE_API_KEYS": 25,
    "RESOURCE_DAYS": 30,
    "TRUSTED_PROXIES": [],
}

BAD = [
    ("PORT", "eighty"),
    ("PORT", "70000"),
    ("PORT", "0"),
    ("WEB_PROCESSES", "0"),
    ("DATABASE_URL", "mysql://u:p@h/db"),
    ("DATABASE_URL", "postgres://u:p@h"),
    ("DATABASE_URL", "postgres://u:p@h:port/db"),
    ("LEASES_DATABASE_URL", "sqlite:///leases"),
    ("REDIS_URL", "http://redis"),
    ("INTRAMEDIAL_BASE_URL", "api.intramedial.com"),
    ("INTRAMEDIAL_BASE_URL", "https://api.intramedial.com/v1"),
    ("INTRAMEDIAL_LEASE_TTL_MS", "-1"),
    ("INTRAMEDIAL_LEASE_TTL_MS", "30s"),
    ("INTRAMEDIAL_TRUST_EXPIRY", "much"),
    ("INTRAMEDIAL_TRUST_EXPIRY", "NaN"),
    ("INTRAMEDIAL_TRUST_RELEASE", "0.55"),
    ("INTRAMEDIAL_TRUSTED_PROXIES", "proxy.example"),
    ("INTRAMEDIAL_DEBUG", "maybe"),
    ("INTRAMEDIAL_LOG_LEVEL", "LOUD"),
]


def test_the_defaults_are_those_of_the_contract():
    values = read({})
    assert {name: values[name] for name in CONTRACT} == CONTRACT


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_refused_and_named(name, value):
    with pytest.raises(BadSetting, match=name):
        read({name: value})


def test_all_bad_values_are_reported_at_once():
    with pytest.raises(BadSetting, match=r"(?s)PORT.*INTRAMEDIAL_OFFER_MS"):
        read({"PORT": "x", "INTRAMEDIAL_OFFER_MS": "y"})


def test_a_refused_database_address_does_not_show_its_password():
    with pytest.raises(BadSetting) as refused:
        read({"DATABASE_URL": "mysql://me:hunter2@host/db"})
    assert "hunter2" not in str(refused.value)


def test_a_command_refuses_a_bad_value_with_a_text():
    done = command("check", env={"INTRAMEDIAL_LEASE_TTL_MS": "soon"})
    assert done.returncode == 1
    words = "Bad setting in the environment: INTRAMEDIAL_LEASE_TTL_MS 'soon' must be a whole number"
    assert done.stderr.startswith(words)
    assert "Traceback" not in done.stderr


def test_an_empty_value_is_the_default():
    assert read({"PORT": ""})["PORT"] == 8000


def test_every_setting_is_explained_and_named_once():
    names = [setting.name for setting in TABLE]
    assert len(set(names)) == len(names)
    assert all(setting.doc for setting in TABLE)


def test_the_settings_that_code_reads_are_those_of_the_table():
    """settings.py declares all settings for the type checker, and each value has its declared type."""
    table = {setting.attribute for setting in TABLE}
    hints = get_type_hints(settings_module)
    elsewhere = {"DATABASE_URL", "LEASES_DATABASE_URL", "LEDGER_DATABASE_URL", "EMAIL_FROM", "LOG_LEVEL"}
    assert table - elsewhere <= hints.keys()
    for name in table - elsewhere:
        assert isinstance(getattr(settings_module, name), get_origin(hints[name]) or hints[name]), name


def test_proxies_are_networks():
    networks = read({"INTRAMEDIAL_TRUSTED_PROXIES": "10.0.0.0/8, ::1"})["TRUSTED_PROXIES"]
    assert networks == [ip_network("10.0.0.0/8"), ip_network("::1")]


def test_the_base_url_follows_host_and_port():
    assert base_url("", "127.0.0.1", 8000) == "http://127.0.0.1:8000"
    assert base_url("", "::1", 9000) == "http://[::1]:9000"
    assert base_url("https://api.intramedial.com", "127.0.0.1", 8000) == "https://api.intramedial.com"


def test_the_secret_is_created_once_and_private(tmp_path):
    first = secret_key(tmp_path)
    assert len(first) >= 50
    assert secret_key(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


class TestDatabaseAddresses:
    def test_every_part(self):
        assert parsers.postgres_url("postgres://me:p%40ss@db.example:5433/lease?sslmode=require") == {
            "NAME": "lease",
            "USER": "me",
            "PASSWORD": "p@ss",
            "HOST": "db.example",
            "PORT": "5433",
            "OPTIONS": {"sslmode": "require"},
        }

    @pytest.mark.parametrize("url", ["postgresql:///lease?host=/run/pg", "postgresql://%2Frun%2Fpg/lease"])
    def test_a_unix_socket(self, url):
        parsed = parsers.postgres_url(url)
        assert (parsed["HOST"], parsed["NAME"], parsed["OPTIONS"]) == ("/run/pg", "lease", {})

    def describe(self, tmp_path, **given):
        parsed = {
            name: parsers.postgres_url(given.get(name, "")) for name in databases.NAME_OF_ALIAS.values()
        }
        return databases.describe(parsed, tmp_path)

    def test_embedded_each_has_a_file_of_its_own(self, tmp_path):
        described = self.describe(tmp_path)
        assert len({str(database["NAME"]) for database in described.values()}) == 3

    def test_one_address_serves_all_three(self, tmp_path):
        described = self.describe(tmp_path, DATABASE_URL="postgres://h/one")
        assert {database["NAME"] for database in described.values()} == {"one"}

    def test_the_ledger_can_have_its_own(self, tmp_path):
        described = self.describe(
            tmp_path, DATABASE_URL="postgres://h/one", LEDGER_DATABASE_URL="postgres://h/two"
        )
        assert [described[alias]["NAME"] for alias in databases.NAME_OF_ALIAS] == ["one", "one", "two"]

    def test_connections_are_not_kept(self, tmp_path):
        for described in (self.describe(tmp_path), self.describe(tmp_path, DATABASE_URL="postgres://h/one")):
            assert all(database["CONN_MAX_AGE"] == 0 for database in described.values())
            assert not any(database["ATOMIC_REQUESTS"] for database in described.values())


def test_https_makes_cookies_secure():
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "intramedial.settings",
            "INTRAMEDIAL_BASE_URL": "https://api.intramedial.com",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split() == ["True", "True"]
