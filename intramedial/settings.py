"""Django's settings, and the only reader of the environment.

Every setting that an operator can set is one line of `TABLE` in `settings_table.py`.
"""

import os
import secrets
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from intramedial import databases
from intramedial.accounts.configuration import LINKS_TO_ADDRESS
from intramedial.http import logs
from intramedial.http.security import YEAR_S
from intramedial.settings_parsers import Network
from intramedial.settings_table import TABLE, BadSetting


def read(environment: Mapping[str, str]) -> dict[str, Any]:
    """The value of every setting in `TABLE` by its attribute. Raises BadSetting, which names all that are
    bad."""
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
    """The secret kept in `data_dir`, made at first use (0600). Processes that start at once get the same
    one."""
    file = data_dir / "secret_key"
    if not file.exists():
        draft = data_dir / f"secret_key.{os.getpid()}.{secrets.token_hex(4)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, file)  # unlike rename, this fails when another process was first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_text().strip()


def base_url(given: str, host: str, port: int) -> str:
    """The public origin: the one given, otherwise the address that the server listens on."""
    return given or f"http://{f'[{host}]' if ':' in host else host}:{port}"


_env = read(os.environ)

# Each setting of the table that is used as it was given. They are written out so that the type checker knows
# the type of `settings.PORT`; a test holds them to the table.
HOST: str = _env["HOST"]
PORT: int = _env["PORT"]
REDIS_URL: str = _env["REDIS_URL"]
WEB_PROCESSES: int = _env["WEB_PROCESSES"]
TRUSTED_PROXIES: list[Network] = _env["TRUSTED_PROXIES"]
DEBUG: bool = _env["DEBUG"]
LEASE_TTL_MS: int = _env["LEASE_TTL_MS"]
OFFER_MS: int = _env["OFFER_MS"]
WAIT_TTL_MS: int = _env["WAIT_TTL_MS"]
STAMPEDE_BASE_MS: int = _env["STAMPEDE_BASE_MS"]
STAMPEDE_CAP_MS: int = _env["STAMPEDE_CAP_MS"]
QUEUE_LIMIT: int = _env["QUEUE_LIMIT"]
TRUST_START: Decimal = _env["TRUST_START"]
TRUST_RELEASE: Decimal = _env["TRUST_RELEASE"]
TRUST_EXPIRY: Decimal = _env["TRUST_EXPIRY"]
TRIAL_CALLS: int = _env["TRIAL_CALLS"]
TRIAL_DAYS: int = _env["TRIAL_DAYS"]
TRIAL_AGENTS: int = _env["TRIAL_AGENTS"]
TRIALS_PER_HOUR: int = _env["TRIALS_PER_HOUR"]
TRIALS_IN_ALL: int = _env["TRIALS_IN_ALL"]
TRIAL_REQUESTS: int = _env["TRIAL_REQUESTS"]
AGENT_REQUESTS: int = _env["AGENT_REQUESTS"]
DISK_RESERVE_MB: int = _env["DISK_RESERVE_MB"]
OUTBOX_MB: int = _env["OUTBOX_MB"]
BODY_LIMIT: int = _env["BODY_LIMIT"]
PAGE_BODY_LIMIT: int = _env["PAGE_BODY_LIMIT"]
CONNECTIONS: int = _env["CONNECTIONS"]
ADDRESS_CONNECTIONS: int = _env["ADDRESS_CONNECTIONS"]
HEAD_SECONDS: int = _env["HEAD_SECONDS"]
BODY_SECONDS: int = _env["BODY_SECONDS"]
UNREAD_SECONDS: int = _env["UNREAD_SECONDS"]
JSON_DEPTH: int = _env["JSON_DEPTH"]
WORKSPACE_RESOURCES: int = _env["WORKSPACE_RESOURCES"]
TRIAL_RESOURCES: int = _env["TRIAL_RESOURCES"]
RESOURCE_DAYS: int = _env["RESOURCE_DAYS"]
WORKSPACE_SOCKETS: int = _env["WORKSPACE_SOCKETS"]
TRIAL_SOCKETS: int = _env["TRIAL_SOCKETS"]
SOCKET_FRAME: int = _env["SOCKET_FRAME"]
WORKSPACE_API_KEYS: int = _env["WORKSPACE_API_KEYS"]
PERSON_WORKSPACES: int = _env["PERSON_WORKSPACES"]
WORKSPACE_MEMBERS: int = _env["WORKSPACE_MEMBERS"]
WORKSPACE_AGENTS: int = _env["WORKSPACE_AGENTS"]
INVITATIONS_PER_HOUR: int = _env["INVITATIONS_PER_HOUR"]
INVITATION_DAYS: int = _env["INVITATION_DAYS"]
AUDIT_DAYS: int = _env["AUDIT_DAYS"]
LOGIN_TRIES: int = _env["LOGIN_TRIES"]
ACCOUNT_TRIES: int = _env["ACCOUNT_TRIES"]
ACCESS_REQUESTS: int = _env["ACCESS_REQUESTS"]
SESSION_DAYS: int = _env["SESSION_DAYS"]
ACCESS_REQUEST_DAYS: int = _env["ACCESS_REQUEST_DAYS"]

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR: Path = BASE_DIR / _env["DATA_DIR"]
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
BASE_URL: str = base_url(_env["BASE_URL"], HOST, PORT)
SECRET_KEY: str = _env["SECRET_KEY"] or secret_key(DATA_DIR)

_public = urlsplit(BASE_URL)
ALLOWED_HOSTS: list[str] = sorted(
    {str(_public.hostname), HOST, "localhost", "127.0.0.1", "[::1]", *_env["ALLOWED_HOSTS"]}
    - {"", "0.0.0.0", "::"}  # noqa: S104 (no request names them as its host)
)
CSRF_TRUSTED_ORIGINS = [BASE_URL]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _public.scheme == "https"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = SESSION_DAYS * 24 * 3600
X_FRAME_OPTIONS = "DENY"
SECURE_HSTS_SECONDS = YEAR_S if _public.scheme == "https" else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SILENCED_SYSTEM_CHECKS = [
    "security.W008",  # the proxy that ends TLS redirects HTTP to HTTPS
    "security.W021",  # the owner of the domain decides whether browsers preload HSTS
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
    # For pages. Django pads each answer at random, so that its length reveals no secret in it.
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

DATABASES = databases.describe(_env, DATA_DIR)
DATABASE_ROUTERS = ["intramedial.databases.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS: dict[str, Any] = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
if REDIS_URL:
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # Without an explicit None the client of redis >= 8 cuts an idle receive after five seconds.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}]},
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
# Alone: Django's own backend would let people log in without passing the checks of `accounts.gate`.
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "workspaces"
LOGOUT_REDIRECT_URL = "home"

# Without an address of a mail server no mail is sent. Where mail is sent, an address must be confirmed before
# anyone logs in with it, and then no answer tells whether an address has an account.
EMAIL_URL: dict[str, Any] = _env["EMAIL_URL"]
SENDS_MAIL = bool(EMAIL_URL)
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if SENDS_MAIL else 'dummy'}.EmailBackend"
EMAIL_TIMEOUT = 10
EMAIL_HOST: str = EMAIL_URL.get("EMAIL_HOST", "localhost")
EMAIL_PORT: int = EMAIL_URL.get("EMAIL_PORT", 25)
EMAIL_HOST_USER: str = EMAIL_URL.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD: str = EMAIL_URL.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS: bool = EMAIL_URL.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL: bool = EMAIL_URL.get("EMAIL_USE_SSL", False)
DEFAULT_FROM_EMAIL: str = _env["EMAIL_FROM"]
SERVER_EMAIL: str = _env["EMAIL_FROM"]

ACCOUNT_ADAPTER = "intramedial.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if SENDS_MAIL else "none"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
ACCOUNT_RATE_LIMITS = {
    # Counted by `accounts.throttle`, which can say when to try again.
    "login": None,
    "signup": None,
    # Codes of the second step, which are short.
    "login_failed": "20/h/key",
    "reauthenticate": "20/h/user",
    "change_password": "20/h/user",
    "reset_password": f"20/h/ip,{LINKS_TO_ADDRESS}",
    "reset_password_from_key": "20/h/ip",
}
MFA_ADAPTER = "intramedial.accounts.adapter.SecondStepAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Intramedial"
MFA_TOTP_TOLERANCE = 1

LANGUAGE_CODE = "es"
LANGUAGES = [("es", "Español"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "intramedial" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {"staticfiles": {"BACKEND": "intramedial.web.static_files.Storage"}}

LOGGING = logs.configuration(_env["LOG_LEVEL"])
