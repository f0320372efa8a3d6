"""Django's settings, and the only reader of the environment.

Every setting an operator has is one line of `TABLE` in `settings_table.py`.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from intramedial import databases
from intramedial.accounts import configuration as accounts
from intramedial.http import logs
from intramedial.http.security import YEAR_S
from intramedial.settings_table import TABLE, BadSetting


def read(environment: Mapping[str, str]) -> dict[str, Any]:
    """The value of every setting in `TABLE` by its attribute; BadSetting names all that are bad."""
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
        raise BadSetting("Bad setting in the environment: " + "; ".join(faults))
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
SESSION_COOKIE_AGE = _env["SESSION_DAYS"] * 24 * 3600
X_FRAME_OPTIONS = "DENY"
SECURE_HSTS_SECONDS = YEAR_S if _public.scheme == "https" else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SILENCED_SYSTEM_CHECKS = [
    "security.W008",  # HTTP is sent on to HTTPS where TLS ends, in front of this
    "security.W021",  # whether browsers preload HSTS is for the owner of the domain
]
CSRF_FAILURE_VIEW = "intramedial.web.pages.forbidden_csrf"

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
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
]
MIDDLEWARE = [
    "intramedial.http.logs.RequestLogMiddleware",
    "intramedial.http.security.HeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # Django pads each answer at random, so that a page's length tells nothing of a secret in it.
    "django.middleware.gzip.GZipMiddleware",
    "intramedial.web.static_files.middleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "intramedial.web.pages.MethodMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "intramedial.accounts.beta.middleware",
    "allauth.account.middleware.AccountMiddleware",
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
                "intramedial.web.pages.site",
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

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "cache",
        "KEY_FUNCTION": "intramedial.accounts.configuration.cache_key",
    }
}

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "name")},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
globals().update(accounts.describe(_env["EMAIL_URL"]))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = _env["EMAIL_FROM"]

LANGUAGE_CODE = "es"
LANGUAGES = [("es", "Español"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "intramedial" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {"staticfiles": {"BACKEND": "intramedial.web.static_files.Storage"}}

LOGGING = logs.configuration(_env["LOG_LEVEL"])
