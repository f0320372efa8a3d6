"""Django's settings, and the only reader of the environment.

Every setting an operator has is one line of `TABLE`; the README's table is held to it by a test.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from intramedial import databases, logs, parsers


class Setting(NamedTuple):
    """One setting of the environment: its variable, its default as text, its parser and what it means."""

    name: str
    default: str
    parse: Callable[[str], Any]
    doc: str

    @property
    def attribute(self) -> str:
        """The name under which code reads it from `django.conf.settings`."""
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
        "INTRAMEDIAL_TRIALS_PER_HOUR", "10", _whole(1, 1_000_000), "new trials of one address in an hour"
    ),
    Setting("INTRAMEDIAL_BODY_LIMIT", "16384", _whole(1024, 16_777_216), "bytes of a request's body"),
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
        "INTRAMEDIAL_INVITATION_DAYS", "7", _whole(1, 365), "days until an invitation to a workspace expires"
    ),
    Setting(
        "INTRAMEDIAL_AUDIT_DAYS", "365", _whole(30, 36_500), "days that entries of the audit log are kept"
    ),
)


def read(environment: Mapping[str, str]) -> dict[str, Any]:
    """The value of every setting in `TABLE` by its attribute; ImproperlyConfigured names all that are bad."""
    values: dict[str, Any] = {}
    faults = []
    for setting in TABLE:
        given = environment.get(setting.name, "")
        try:
            values[setting.attribute] = setting.parse(given or setting.default)
        except ValueError as error:
            # A database address holds a password: it is named but never shown.
            shown = "" if setting.name.endswith(("_URL", "_KEY")) else f" {given!r}"
            faults.append(f"{setting.name}{shown} {error}")
    if faults:
        raise ImproperlyConfigured("Bad setting in the environment: " + "; ".join(faults))
    return values


def secret_key(data_dir: Path) -> str:
    """The secret kept in `data_dir`, made at first use (0600); one for processes that start at once."""
    file = data_dir / "secret_key"
    if not file.exists():
        draft = data_dir / f"secret_key.{os.getpid()}.{secrets.token_hex(4)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, file)  # fails, instead of replacing, when another process was first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_text().strip()


def base_url(given: str, host: str, port: int) -> str:
    """The public origin: what was given, else the address listened on."""
    return given or f"http://{f'[{host}]' if ':' in host else host}:{port}"


_env = read(os.environ)
_postgres = {name: _env.pop(name) for name in ("DATABASE_URL", "LEASES_DATABASE_URL", "LEDGER_DATABASE_URL")}
# Every setting of the table is an attribute of this module: settings.PORT, settings.LEASE_TTL_MS …
globals().update(_env)

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR: Path = BASE_DIR / _env["DATA_DIR"]
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
BASE_URL = base_url(_env["BASE_URL"], _env["HOST"], _env["PORT"])
SECRET_KEY = _env["SECRET_KEY"] or secret_key(DATA_DIR)
DEBUG: bool = _env["DEBUG"]

_public = urlsplit(BASE_URL)
ALLOWED_HOSTS = sorted(
    {str(_public.hostname), _env["HOST"], "localhost", "127.0.0.1", "[::1]", *_env["ALLOWED_HOSTS"]}
    - {"", "0.0.0.0", "::"}  # noqa: S104 (never a host that is asked for)
)
CSRF_TRUSTED_ORIGINS = [BASE_URL]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _public.scheme == "https"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "intramedial.pages.forbidden_csrf"

INSTALLED_APPS = [
    "intramedial.apps.PlatformConfig",
    "intramedial.accounts",
    "intramedial.audit",
    "intramedial.workspaces",
    "intramedial.ledger",
    "coordination",
    "intramedial.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "intramedial.logs.RequestLogMiddleware",
    "intramedial.security.HeadersMiddleware",
    "intramedial.static_files.StaticFilesMiddleware",
    # Of the pages; Django pads each answer at random, so that its length tells nothing of a secret in it.
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "intramedial.urls"
ASGI_APPLICATION = "intramedial.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "intramedial.pages.site",
            ],
        },
    },
]

DATABASES = databases.describe(_postgres, DATA_DIR)
DATABASE_ROUTERS = ["intramedial.databases.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS: dict[str, Any] = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
if _env["REDIS_URL"]:
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # Without an explicit None the client of redis >= 8 cuts an idle receive after five seconds.
        "CONFIG": {"hosts": [{"address": _env["REDIS_URL"], "socket_timeout": None}]},
    }

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

LANGUAGE_CODE = "es"
LANGUAGES = [("es", "Español"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "intramedial" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served from where they lie; a browser asks again each time and mostly hears 304.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0
WHITENOISE_ALLOW_ALL_ORIGINS = False

LOGGING = logs.configuration(_env["LOG_LEVEL"])
