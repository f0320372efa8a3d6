"""What `intramedial.settings` takes from here: how keys of the cache are made, and a rate of allauth's."""

from django.utils.crypto import salted_hmac

LINKS_TO_ADDRESS = "5/h/key"
"""How many links for a new password are mailed to one address; a rate in allauth's notation."""


def cache_key(key: str, prefix: str, version: int) -> str:
    """The key under which the cache stores a value: a keyed hash, because allauth's keys hold addresses."""
    return salted_hmac("intramedial.cache", f"{version} {key}", algorithm="sha256").hexdigest()
