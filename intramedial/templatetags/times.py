"""Instants in templates: `{{ at|ago }}`, `{{ at|instant }}`. Each gives a `<time>` with the exact instant."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from intramedial.web import amounts

register = template.Library()
WIRE = "%Y-%m-%dT%H:%M:%SZ"


@register.filter
def ago(at: datetime) -> SafeString:
    """How long ago an instant was, or how long it is until it comes."""
    return _time(at, amounts.ago((timezone.now() - at).total_seconds()))


@register.filter
def instant(at: datetime) -> SafeString:
    """An instant to the minute, in UTC."""
    return _time(at, f"{at:%Y-%m-%d %H:%M}{amounts.SPACE}UTC")


@register.filter
def moment(at: datetime) -> SafeString:
    """An instant to the second, in UTC."""
    return _time(at, f"{at:%Y-%m-%d %H:%M:%S}{amounts.SPACE}UTC")


def _time(at: datetime, words: str) -> SafeString:
    exact = at.strftime(WIRE)
    return format_html('<time datetime="{}" title="{}">{}</time>', exact, exact, words)
