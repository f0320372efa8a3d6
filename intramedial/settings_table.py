"""The settings that an operator can set. `settings.py` reads them.

A test checks that docs/settings.md has the same table.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured

from intramedial import settings_parsers as parsers


class BadSetting(ImproperlyConfigured):
    """A value in the environment is not valid for its setting."""


class Setting(NamedTuple):
    """One setting: its environment variable, its default as text, its parser and its meaning."""

    name: str
    default: str
    parse: Callable[[str], Any]
    doc: str

    @property
    def attribute(self) -> str:
        """Its name in `django.conf.settings`."""
        return self.name.removeprefix("INTRAMEDIAL_")


HOUR_MS = 3_600_000
_whole = parsers.whole

TABLE = (
    Setting("HOST", "127.0.0.1", parsers.text, "address to listen on"),
    Setting("PORT", "8000", _whole(1, 65535), "port to listen on"),
    Setting(
        "INTRAMEDIAL_DATA_DIR",
        "var/",
        parsers.path,
        "SQLite files, signing keys, secrets (0600); below the project's root; deleting it resets all",
    ),
    Setting(
        "DATABASE_URL",
        "",
        parsers.postgres_url,
        "who: accounts, workspaces, keys, trials; `postgres://…` for several processes or machines, "
        "else SQLite in the data directory",
    ),
    Setting(
        "LEASES_DATABASE_URL",
        "",
        parsers.postgres_url,
        "the authority's own tables; default `DATABASE_URL` if given, else an SQLite file of its own",
    ),
    Setting(
        "LEDGER_DATABASE_URL",
        "",
        parsers.postgres_url,
        "evidence, which may fail on its own; default as for `LEASES_DATABASE_URL`",
    ),
    Setting("REDIS_URL", "", parsers.redis_url, "channel layer of several processes; default in memory"),
    Setting(
        "WEB_PROCESSES", "1", _whole(1, 256), "server processes; more than one needs PostgreSQL and Redis"
    ),
    Setting(
        "INTRAMEDIAL_BASE_URL",
        "",
        parsers.origin,
        "public origin: issuer of receipts, links, samples; default `http://HOST:PORT`",
    ),
    Setting(
        "INTRAMEDIAL_ALLOWED_HOSTS",
        "",
        parsers.words,
        "more host names to answer to, besides those of the base URL, HOST and this machine",
    ),
    Setting(
        "INTRAMEDIAL_TRUSTED_PROXIES",
        "",
        parsers.networks,
        "addresses or networks of proxies whose `X-Forwarded-For` is believed",
    ),
    Setting(
        "INTRAMEDIAL_EMAIL_URL",
        "",
        parsers.email_url,
        "how mail is sent: `smtps://user:password@host`, `smtp+tls://…` (STARTTLS) or `smtp://…`; "
        "without it none is sent, and addresses are not confirmed",
    ),
    Setting(
        "INTRAMEDIAL_EMAIL_FROM", "preview@intramedial.com", parsers.text, "sender of the mail that is sent"
    ),
    Setting(
        "INTRAMEDIAL_SECRET_KEY", "", parsers.text, "Django's secret; default made once in the data directory"
    ),
    Setting("INTRAMEDIAL_DEBUG", "0", parsers.flag, "pages with tracebacks; for development alone"),
    Setting("INTRAMEDIAL_LOG_LEVEL", "INFO", parsers.log_level, "least level of what is logged"),
    Setting("INTRAMEDIAL_LEASE_TTL_MS", "30000", _whole(50, 24 * HOUR_MS), "how long every lease lasts"),
    Setting(
        "INTRAMEDIAL_OFFER_MS",
        "2000",
        _whole(10, HOUR_MS),
        "how long the head of a queue has to claim what is free",
    ),
    Setting(
        "INTRAMEDIAL_WAIT_TTL_MS",
        "35000",
        _whole(50, 48 * HOUR_MS),
        "how long a wait lasts without asking again",
    ),
    Setting("INTRAMEDIAL_STAMPEDE_BASE_MS", "25", _whole(1, HOUR_MS), "`waitMs` told to the first in line"),
    Setting("INTRAMEDIAL_STAMPEDE_CAP_MS", "800", _whole(1, HOUR_MS), "largest `waitMs`"),
    Setting("INTRAMEDIAL_QUEUE_LIMIT", "8", _whole(1, 1000), "waits admitted to the queue of one resource"),
    Setting("INTRAMEDIAL_TRUST_START", "50.0", parsers.score, "trust score of an agent never seen before"),
    Setting("INTRAMEDIAL_TRUST_RELEASE", "0.5", parsers.score, "trust moved by a release"),
    Setting("INTRAMEDIAL_TRUST_EXPIRY", "-5.0", parsers.score, "trust moved by a lease that ran out"),
    Setting("INTRAMEDIAL_TRIAL_CALLS", "35", _whole(1, 1_000_000), "coordination calls of a trial key"),
    Setting("INTRAMEDIAL_TRIAL_DAYS", "7", _whole(1, 3650), "days until a trial key expires"),
    Setting("INTRAMEDIAL_TRIAL_AGENTS", "8", _whole(1, 1000), "agents of one trial"),
    Setting(
        "INTRAMEDIAL_TRIALS_PER_HOUR",
        "10",
        _whole(1, 1_000_000),
        "new trials in an hour of one address, and of the addresses of one IPv6 /48 together",
    ),
    Setting(
        "INTRAMEDIAL_TRIALS_IN_ALL",
        "2000",
        _whole(1, 10_000_000),
        "new trials in an hour of all addresses together",
    ),
    Setting(
        "INTRAMEDIAL_TRIAL_REQUESTS",
        "600",
        _whole(1, 1_000_000),
        "requests that one key of a trial, or one not known yet, may sign in a minute",
    ),
    Setting(
        "INTRAMEDIAL_AGENT_REQUESTS",
        "6000",
        _whole(1, 10_000_000),
        "requests that one registered agent may sign in a minute",
    ),
    Setting(
        "INTRAMEDIAL_DISK_RESERVE_MB",
        "256",
        _whole(0, 1_000_000),
        "embedded: how much of the disk is kept free for leases, at most a quarter of it; the ledger and new "
        "trials stop before; 0: nothing",
    ),
    Setting(
        "INTRAMEDIAL_OUTBOX_MB",
        "128",
        _whole(1, 1_000_000),
        "how much may wait for a ledger that is away; entries beyond it are dropped and counted",
    ),
    Setting("INTRAMEDIAL_BODY_LIMIT", "16384", _whole(1024, 16_777_216), "bytes of a request's body"),
    Setting(
        "INTRAMEDIAL_PAGE_BODY_LIMIT", "262144", _whole(1024, 1_048_576), "bytes of a body sent to a page"
    ),
    Setting(
        "INTRAMEDIAL_CONNECTIONS",
        "1024",
        _whole(8, 1_000_000),
        "connections of a server process, without live sockets; the limit of open files may allow fewer",
    ),
    Setting(
        "INTRAMEDIAL_ADDRESS_CONNECTIONS",
        "256",
        _whole(1, 1_000_000),
        "connections of one address; trusted proxies may have more",
    ),
    Setting(
        "INTRAMEDIAL_HEAD_SECONDS",
        "10",
        _whole(1, 600),
        "seconds until the head of a request, or the handshake of a live socket, must be complete",
    ),
    Setting("INTRAMEDIAL_BODY_SECONDS", "30", _whole(1, 600), "seconds until a body must be complete"),
    Setting(
        "INTRAMEDIAL_UNREAD_SECONDS",
        "30",
        _whole(1, 600),
        "seconds that a client may take nothing of its answer",
    ),
    Setting("INTRAMEDIAL_JSON_DEPTH", "16", _whole(2, 200), "nesting of a JSON body"),
    Setting(
        "INTRAMEDIAL_WORKSPACE_RESOURCES",
        "10000",
        _whole(1, 10_000_000),
        "resources held or waited for at once in a workspace",
    ),
    Setting("INTRAMEDIAL_TRIAL_RESOURCES", "50", _whole(1, 10_000_000), "the same, of a trial"),
    Setting(
        "INTRAMEDIAL_RESOURCE_DAYS",
        "30",
        _whole(1, 36_500),
        "days after its last use until a resource is forgotten; fencing tokens never go back for it",
    ),
    Setting("INTRAMEDIAL_WORKSPACE_SOCKETS", "1000", _whole(1, 1_000_000), "live sockets of a workspace"),
    Setting("INTRAMEDIAL_TRIAL_SOCKETS", "3", _whole(1, 1_000_000), "live sockets of a trial"),
    Setting(
        "INTRAMEDIAL_SOCKET_FRAME", "16384", _whole(128, 16_777_216), "bytes of a frame on a live socket"
    ),
    Setting("INTRAMEDIAL_WORKSPACE_API_KEYS", "25", _whole(1, 100_000), "API keys in force of a workspace"),
    Setting("INTRAMEDIAL_PERSON_WORKSPACES", "20", _whole(1, 100_000), "workspaces that a person may own"),
    Setting(
        "INTRAMEDIAL_WORKSPACE_MEMBERS",
        "100",
        _whole(1, 100_000),
        "members and open invitations of a workspace",
    ),
    Setting(
        "INTRAMEDIAL_WORKSPACE_AGENTS",
        "1000",
        _whole(1, 1_000_000),
        "agents registered in a workspace to sign requests",
    ),
    Setting(
        "INTRAMEDIAL_INVITATIONS_PER_HOUR",
        "30",
        _whole(1, 100_000),
        "invitations that a person may send in an hour",
    ),
    Setting(
        "INTRAMEDIAL_INVITATION_DAYS", "7", _whole(1, 365), "days until an invitation to a workspace expires"
    ),
    Setting(
        "INTRAMEDIAL_AUDIT_DAYS", "365", _whole(30, 36_500), "days that entries of the audit log are kept"
    ),
    Setting(
        "INTRAMEDIAL_LOGIN_TRIES",
        "20",
        _whole(1, 1_000_000),
        "sign-up and log-in tries in an hour, of one address and of one address with one account",
    ),
    Setting(
        "INTRAMEDIAL_ACCOUNT_TRIES",
        "200",
        _whole(1, 1_000_000),
        "wrong log-in tries in an hour of one account, from all addresses together",
    ),
    Setting(
        "INTRAMEDIAL_ACCESS_REQUESTS",
        "5",
        _whole(1, 1_000_000),
        "requests for access to the beta of one address in an hour",
    ),
    Setting("INTRAMEDIAL_SESSION_DAYS", "14", _whole(1, 365), "days after its last use until a session ends"),
    Setting(
        "INTRAMEDIAL_ACCESS_REQUEST_DAYS",
        "180",
        _whole(1, 36_500),
        "days until a request for access to the beta goes",
    ),
)
