"""What `intramedial.settings` takes from here: how keys of the cache are made, and a rate of allauth's."""

from django.utils.crypto import salted_hmac

LINKS_TO_ADDRESS = "5/h/key"
"""Links for a new password that are mailed to one address; a rate as allauth writes them."""


def cache_key(key: str, prefix: str, version: int) -> str:
    """Under what a value of the cache is kept: a keyed hash, since allauth's keys name addresses."""
    return salted_hmac("intramedial.cache", f"{version} {key}", algorithm="sha256").hexdigest()
