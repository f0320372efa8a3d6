"""DIDs in templates: `{{ did|brief }}`."""

from django import template

register = template.Library()
LONGEST, BEGINNING, END = 28, 16, 6


@register.filter
def brief(did: str) -> str:
    """A DID shortened in the middle, as the scripts of the boards shorten it."""
    return did if len(did) <= LONGEST else f"{did[:BEGINNING]}…{did[-END:]}"
