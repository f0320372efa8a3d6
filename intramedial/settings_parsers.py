"""Parsers: text of the environment -> value of a setting. Pure. Each raises ValueError with what is wrong."""

import ipaddress
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def text(value: str) -> str:
    """Any text, unchanged."""
    return value


def flag(value: str) -> bool:
    """A word for true or false."""
    word = value.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError("must be one of 1, true, yes, on, 0, false, no, off")


def whole(least: int, most: int) -> Callable[[str], int]:
    """A parser of whole numbers in least … most."""

    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError("must be a whole number") from None
        if not least <= number <= most:
            raise ValueError(f"must be in {least} … {most}")
        return number

    return parse


def score(value: str) -> Decimal:
    """An exact decimal in -100 … 100 with at most one digit after the point."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError("must be a decimal number") from None
    if not number.is_finite() or not -100 <= number <= 100:
        raise ValueError("must be in -100 … 100")
    if number != round(number, 1):
        raise ValueError("must have at most one digit after the point")
    return number


def path(value: str) -> Path:
    """A directory; `~` is the home directory."""
    if not value:
        raise ValueError("must name a directory")
    return Path(value).expanduser()


def words(value: str) -> list[str]:
    """Words separated by commas. [] for an empty text."""
    return [word.strip() for word in value.split(",") if word.strip()]


def networks(value: str) -> list[Network]:
    """IP addresses or networks separated by commas."""
    try:
        return [ipaddress.ip_network(word) for word in words(value)]
    except ValueError as error:
        raise ValueError(f"must be IP addresses or networks separated by commas ({error})") from None


def log_level(value: str) -> str:
    """A level of Python's logging."""
    level = value.strip().upper()
    if level not in LOG_LEVELS:
        raise ValueError(f"must be one of {', '.join(LOG_LEVELS)}")
    return level


def origin(value: str) -> str:
    """An http(s) origin without a path, or "" for the default made from HOST and PORT."""
    if not value:
        return ""
    parts = urlsplit(value.rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http:// or https:// address")
    if parts.path or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an origin: scheme, host and port, nothing after them")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("has a port that is not one") from None
    return f"{parts.scheme}://{parts.netloc.lower()}"


def redis_url(value: str) -> str:
    """A Redis address, or "" for none."""
    if value and urlsplit(value).scheme not in ("redis", "rediss", "unix"):
        raise ValueError("must begin with redis://, rediss:// or unix://")
    return value


def postgres_url(value: str) -> dict[str, Any]:
    """`postgres://user:password@host:port/name?option=…` -> Django's keys; {} for an empty text.

    The directory of a Unix socket is percent-encoded in the place of the host, or the option `host`.
    """
    if not value:
        return {}
    parts = urlsplit(value)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError("must begin with postgres:// (leave it out for SQLite in the data directory)")
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise ValueError("must end in the name of one database: postgres://user:password@host:port/name")
    try:
        port = parts.port
    except ValueError:
        raise ValueError("has a port that is not one") from None
    options = dict(parse_qsl(parts.query))
    # Django passes HOST and PORT itself, so the options must not have them too.
    host = options.pop("host", unquote(parts.hostname or ""))
    return {
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": options.pop("port", str(port or "")),
        "OPTIONS": options,
    }


MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def email_url(value: str) -> dict[str, Any]:
    """`smtps://user:password@host:port` -> Django's settings of mail; {} for an empty text."""
    if not value:
        return {}
    parts = urlsplit(value)
    if parts.scheme not in MAIL_PORTS or not parts.hostname:
        raise ValueError(
            "must be smtp://, smtp+tls:// or smtps://, a host, and user:password@ before it if need be"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("must end with the host or its port")
    try:
        port = parts.port
    except ValueError:
        raise ValueError("has a port that is not one") from None
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or MAIL_PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
    }
