"""The figures in the texts of pages, formatted in the active language."""

from typing import Any

from django.conf import settings
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from coordination.authority import process as authority
from coordination.core.names import READ_SAFE_CLASSES
from coordination.pages.module import samples
from intramedial.identity.signatures import MAX_SKEW_S, MAX_VALIDITY_S
from intramedial.web import amounts

# In the order of how often they are used.
CLASSES = ("doc", "file", "data", "config")
OTHER_CLASS = "lock"


def figures() -> dict[str, Any]:
    """The figures, by the names that templates use."""
    rules = authority.rules()
    number, duration = amounts.number, amounts.duration
    places = list(range(1, rules.queue_limit + 1))
    return {
        "ttl": duration(rules.lease_ttl_ms),
        "ttl_ms": str(rules.lease_ttl_ms),
        "offer": duration(rules.offer_ms),
        "place_kept": duration(rules.wait_ttl_ms),
        "base_ms": number(rules.stampede_base_ms),
        "cap_ms": number(rules.stampede_cap_ms),
        "first_wait": duration(rules.wait_ms(0)),
        "most_wait": duration(rules.stampede_cap_ms),
        "queue_limit": number(rules.queue_limit),
        "waits": [(number(place), duration(rules.wait_ms(place - 1))) for place in places[:12]],
        "trust_start": number(rules.trust_start),
        "trust_release": number(rules.trust_release, signed=True),
        "trust_expiry": number(rules.trust_expiry, signed=True),
        "trial_calls": number(settings.TRIAL_CALLS),
        "trial_days": amounts.days(settings.TRIAL_DAYS),
        "trial_agents": number(settings.TRIAL_AGENTS),
        "resources": number(settings.WORKSPACE_RESOURCES),
        "body_limit": amounts.size(settings.BODY_LIMIT),
        "depth": number(settings.JSON_DEPTH),
        "skew": duration(MAX_SKEW_S * 1000),
        "validity": duration(MAX_VALIDITY_S * 1000),
        "token": number(samples.TOKEN),
        "next_token": number(samples.TOKEN + 1),
        "crowd": number(samples.CROWD),
        "read_classes": _codes(CLASSES),
        "modes": samples.modes((*CLASSES, OTHER_CLASS)),
    }


def limits() -> dict[str, int]:
    """The figures that the scripts of the pages use."""
    return {
        "leaseTtlMs": settings.LEASE_TTL_MS,
        "stampedeBaseMs": settings.STAMPEDE_BASE_MS,
        "stampedeCapMs": settings.STAMPEDE_CAP_MS,
        "trialAgents": settings.TRIAL_AGENTS,
        "bodyLimit": settings.BODY_LIMIT,
        "queueLimit": settings.QUEUE_LIMIT,
    }


def _codes(names: tuple[str, ...]) -> SafeString:
    assert set(names) == READ_SAFE_CLASSES
    return format_html_join(", ", "<code>{}</code>", ((name,) for name in names))
