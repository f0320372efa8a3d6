"""The management commands print one JSON object in the shape of the contract, or refuse with a text."""

import io
import json
import re
from datetime import UTC, datetime

import psycopg
import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command

from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword, User
from intramedial.workspaces import keys
from intramedial.workspaces.models import ApiKey, Workspace
from tests.server import command, manage

DID = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"


def run(*words):
    """Run a command with --json; returns the object that it prints. It prints nothing else."""
    out = io.StringIO()
    call_command(*words, "--json", stdout=out)
    assert out.getvalue().count("\n") == 1
    return json.loads(out.getvalue())


class TestWorkspace:
    def test_create(self):
        made = run("workspace", "create", "Trenes")
        assert set(made) == {"workspace", "apiKey"}
        workspace = Workspace.objects.get(public_id=made["workspace"])
        assert workspace.name == "Trenes"
        assert workspace.public_id.startswith("ws_")
        assert keys.well_formed(made["apiKey"])
        assert workspace.api_keys.get().sha256 == keys.digest(made["apiKey"])

    def test_an_empty_name_is_refused(self):
        with pytest.raises(CommandError, match="Write a name"):
            run("workspace", "create", "  ")

    def test_without_json_it_prints_lines(self):
        out = io.StringIO()
        call_command("workspace", "create", "Trenes", stdout=out)
        assert re.fullmatch(r"workspace: ws_\w+\napiKey: imk_\w+\n", out.getvalue())


class TestApiKey:
    def test_create(self, workspace):
        made = run("apikey", "create", workspace.public_id)
        assert set(made) == {"apiKey", "prefix"}
        row = ApiKey.objects.get(prefix=made["prefix"])
        assert (row.workspace, row.actor_did, row.read_only) == (workspace, None, False)

    def test_create_bound_read_only_and_labelled(self, workspace):
        options = ("--actor", DID, "--read-only", "--label", "robot")
        row = ApiKey.objects.get(prefix=run("apikey", "create", workspace.public_id, *options)["prefix"])
        assert (row.actor_did, row.read_only, row.label) == (DID, True, "robot")

    def test_a_malformed_did_is_refused(self, workspace):
        with pytest.raises(CommandError):
            run("apikey", "create", workspace.public_id, "--actor", "me")
        assert not workspace.api_keys.exists()

    def test_an_unknown_workspace_is_refused(self):
        with pytest.raises(CommandError, match="no workspace"):
            run("apikey", "create", "ws_none")

    def test_a_workspace_has_a_limit_of_keys(self, workspace, settings):
        settings.WORKSPACE_API_KEYS = 2
        first = run("apikey", "create", workspace.public_id)
        run("apikey", "create", workspace.public_id)
        with pytest.raises(CommandError, match="2 keys in force"):
            run("apikey", "create", workspace.public_id)
        run("apikey", "revoke", first["prefix"])
        run("apikey", "create", workspace.public_id)

    def test_revoke_keeps_the_first_instant(self, workspace):
        prefix = run("apikey", "create", workspace.public_id)["prefix"]
        revoked = run("apikey", "revoke", prefix)
        assert set(revoked) == {"prefix", "revokedAt"}
        assert run("apikey", "revoke", prefix) == revoked
        assert ApiKey.objects.get(prefix=prefix).revoked_at is not None

    def test_revoke_accepts_the_whole_key_and_never_prints_it(self, workspace):
        made = run("apikey", "create", workspace.public_id)
        assert run("apikey", "revoke", made["apiKey"])["prefix"] == made["prefix"]

    def test_revoke_refuses_an_unknown_key(self):
        unknown = keys.make_key()
        with pytest.raises(CommandError) as refused:
            run("apikey", "revoke", unknown.secret)
        assert unknown.secret not in str(refused.value)


class TestBetaPassword:
    def test_create(self):
        made = run("betapassword", "create")
        assert set(made) == {"betaPassword"}
        row = BetaPassword.objects.get(hash=beta.digest(made["betaPassword"]))
        assert (row.max_uses, row.uses, row.expires_at) == (None, 0, None)
        assert made["betaPassword"] not in " ".join(str(value) for value in vars(row).values())

    def test_create_with_everything(self):
        options = ("--label", "prensa", "--max-uses", "3", "--expires", "2031-05-01")
        row = BetaPassword.objects.get(
            hash=beta.digest(run("betapassword", "create", *options)["betaPassword"])
        )
        assert (row.label, row.max_uses) == ("prensa", 3)
        assert row.expires_at == datetime(2031, 5, 1, 23, 59, 59, 999_999, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("given", "kept", "shown"),
        [
            ("2031-12-01", (2031, 12, 1, 23, 59, 59, 999_999), "2031-12-01T23:59:59.999Z"),
            ("2032-02-29", (2032, 2, 29, 23, 59, 59, 999_999), "2032-02-29T23:59:59.999Z"),
            ("2031-12-01T00:00:00", (2031, 12, 1), "2031-12-01T00:00:00.000Z"),
            ("2031-12-01T00:00:00Z", (2031, 12, 1), "2031-12-01T00:00:00.000Z"),
            ("2031-12-01T00:30:00+02:00", (2031, 11, 30, 22, 30), "2031-11-30T22:30:00.000Z"),
            ("2031-12-01 10:00", (2031, 12, 1, 10), "2031-12-01T10:00:00.000Z"),
        ],
    )
    def test_a_date_means_the_end_of_that_day_and_a_time_is_exact(self, given, kept, shown):
        made = run("betapassword", "create", "--expires", given)
        assert made["expiresAt"] == shown
        row = BetaPassword.objects.get(hash=beta.digest(made["betaPassword"]))
        assert row.expires_at == datetime(*kept, tzinfo=UTC)

    def test_a_password_that_expires_today_is_valid_today(self):
        made = run("betapassword", "create", "--expires", datetime.now(UTC).date().isoformat())
        assert beta.check(made["betaPassword"], sign_up=True)

    def test_help_and_output_explain_dates(self):
        assert "end of that day, UTC" in " ".join(manage("betapassword", "create", "--help", env={}).split())
        out = io.StringIO()
        call_command("betapassword", "create", "--expires", "2031-12-01", stdout=out)
        assert "expiresAt: 2031-12-01T23:59:59.999Z" in out.getvalue()

    @pytest.mark.parametrize(
        "options",
        [
            *(
                ("--max-uses", "0"),
                ("--max-uses", "x"),
                ("--expires", "tomorrow"),
                ("--expires", "2020-01-01"),
            ),
            *(("--expires", ""), ("--expires", "2031-02-30"), ("--expires", "2031-01-01T25:00")),
            *(("--expires", "0001-01-01T00:00:00+14:00"), ("--expires", "9999-12-31T23:59:59-14:00")),
        ],
    )
    def test_malformed_options_are_refused(self, options):
        with pytest.raises(CommandError):
            run("betapassword", "create", *options)


class TestAdmin:
    def test_create(self):
        made = run("admin", "create", "jefa@example.com")
        assert set(made) == {"email", "password"}
        user = authenticate(username=made["email"], password=made["password"])
        assert isinstance(user, User)
        assert user.is_superuser

    def test_an_address_in_use_is_refused_in_any_spelling(self):
        run("admin", "create", "una@example.com")
        with pytest.raises(CommandError, match="already"):
            run("admin", "create", "UNA@example.com")

    def test_a_malformed_address_is_refused(self):
        with pytest.raises(CommandError, match="e-mail"):
            run("admin", "create", "jefa")


def test_signingkey_rotate_publishes_the_new_key():
    from intramedial.receipts import signing

    before = {key["kid"] for key in signing.jwks()["keys"]}
    made = run("signingkey", "rotate")
    assert set(made) == {"kid"}
    assert made["kid"] not in before
    assert {key["kid"] for key in signing.jwks()["keys"]} >= before | {made["kid"]}


class TestAsAProgram:
    def test_bootstrap_shows_each_secret_once_and_changes_nothing_later(self, tmp_path):
        env = {"INTRAMEDIAL_DATA_DIR": str(tmp_path), "DATABASE_URL": ""}
        first = json.loads(manage("bootstrap", "--json", env=env))
        assert set(first) == {"adminEmail", "adminPassword", "betaPassword", "workspace", "apiKey"}
        kept = {file.name: file.read_bytes() for file in (tmp_path / "keys").iterdir()}
        assert json.loads(manage("bootstrap", "--json", env=env)) == {}
        assert {file.name: file.read_bytes() for file in (tmp_path / "keys").iterdir()} == kept
        again = manage("bootstrap", env=env)
        assert not any(secret in again for secret in first.values())

    def test_bootstrap_sets_up_each_distinct_database(self, tmp_path, postgres_cluster):
        one, two = (postgres_cluster.url(postgres_cluster.create_database()) for _ in range(2))
        env = {"INTRAMEDIAL_DATA_DIR": str(tmp_path), "DATABASE_URL": one, "LEDGER_DATABASE_URL": two}
        manage("bootstrap", env=env)
        assert json.loads(manage("bootstrap", "--json", env=env)) == {}
        query = "select tablename from pg_tables where tablename ~ '^(accounts|lease|ledger)_' order by 1"
        found = []
        for url in (one, two):
            with psycopg.connect(url) as connection:
                found.append({row[0].split("_")[0] for row in connection.execute(query)})
        assert found == [{"accounts", "lease"}, {"ledger"}]

    def test_a_refusal_is_a_text_on_stderr_and_nothing_on_stdout(self):
        done = command("apikey", "create", "ws_none", "--json", env={})
        assert done.returncode == 1
        assert done.stdout == ""
        assert "There is no workspace 'ws_none'." in done.stderr
        assert "Traceback" not in done.stderr
