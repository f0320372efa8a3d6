"""Django's and allauth's settings for accounts and mail; `intramedial.settings` includes them."""

from typing import Any

from django.utils.crypto import salted_hmac

MAIL_TIMEOUT_S = 10
REAUTHENTICATION_S = 300
LINKS_TO_ADDRESS = "5/h/key"
"""How many links for a new password are mailed to one address; a rate in allauth's notation."""


def cache_key(key: str, prefix: str, version: int) -> str:
    """The key under which the cache stores a value: a keyed hash, because allauth's keys hold addresses."""
    return salted_hmac("intramedial.cache", f"{version} {key}", algorithm="sha256").hexdigest()


def describe(mail: dict[str, Any]) -> dict[str, Any]:
    """The settings by name. `mail` are Django's settings of mail (`settings_parsers.email_url`); if it is
    empty, no mail is sent.

    With mail, an address must be confirmed before a person can log in with it, and no answer shows whether an
    address has an account.
    """
    return {
        "SENDS_MAIL": bool(mail),
        "EMAIL_BACKEND": f"django.core.mail.backends.{'smtp' if mail else 'dummy'}.EmailBackend",
        "EMAIL_TIMEOUT": MAIL_TIMEOUT_S,
        **mail,
        # The only backend: with Django's own, a person could log in without a beta password.
        "AUTHENTICATION_BACKENDS": ["allauth.account.auth_backends.AuthenticationBackend"],
        "LOGIN_URL": "account_login",
        "LOGIN_REDIRECT_URL": "workspaces",
        "LOGOUT_REDIRECT_URL": "home",
        "ACCOUNT_ADAPTER": "intramedial.accounts.adapter.AccountAdapter",
        "ACCOUNT_LOGIN_METHODS": {"email"},
        "ACCOUNT_SIGNUP_FIELDS": ["email*", "password1*"],
        "ACCOUNT_USER_MODEL_USERNAME_FIELD": None,
        "ACCOUNT_EMAIL_VERIFICATION": "mandatory" if mail else "none",
        "ACCOUNT_EMAIL_NOTIFICATIONS": True,
        "ACCOUNT_CHANGE_EMAIL": True,
        "ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION": True,
        "ACCOUNT_SESSION_REMEMBER": True,
        "ACCOUNT_REAUTHENTICATION_REQUIRED": True,
        "ACCOUNT_REAUTHENTICATION_TIMEOUT": REAUTHENTICATION_S,
        "ACCOUNT_REAUTHENTICATION_METHODS": ("password", "mfa"),
        "ACCOUNT_RATE_LIMITS": {
            # None because `throttle.py` counts these, and can say when to try again.
            "login": None,
            "signup": None,
            # Limits guesses of the second step's codes, which are short.
            "login_failed": "20/h/key",
            "reauthenticate": "20/h/user",
            "change_password": "20/h/user",
            "reset_password": f"20/h/ip,{LINKS_TO_ADDRESS}",
            "reset_password_from_key": "20/h/ip",
        },
        "MFA_ADAPTER": "intramedial.accounts.adapter.SecondStepAdapter",
        "MFA_ALLOW_UNVERIFIED_EMAIL": True,
        "MFA_RECOVERY_CODES_SHOW_ONCE": True,
        "MFA_TOTP_ISSUER": "Intramedial",
        "MFA_TOTP_TOLERANCE": 1,
    }
