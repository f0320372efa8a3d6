"""Numbers, sizes and durations as text, in the language of the page."""

from decimal import Decimal

from django.utils.formats import get_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

# Between a number and its unit, so that no line breaks there.
SPACE = "\N{NO-BREAK SPACE}"
# As in CLDR, which browsers use: Spanish groups the digits of numbers from five digits on.
GROUPS = {"es": (".", 10_000), "en": (",", 1_000)}
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
KIB, MIB = 1_024, 1_048_576


def number(value: int | Decimal, *, signed: bool = False) -> str:
    """A number with the decimal and grouping marks of the language; with `signed`, also with a plus sign."""
    mark, least = GROUPS[(get_language() or "es")[:2]]
    whole, _dot, decimals = format(abs(value), "f" if isinstance(value, Decimal) else "d").partition(".")
    if int(whole) >= least:
        whole = f"{int(whole):,}".replace(",", mark)
    text = f"{whole}{get_format('DECIMAL_SEPARATOR')}{decimals}" if decimals else whole
    sign = "\N{MINUS SIGN}" if value < 0 else "+" if signed else ""
    return sign + text


def duration(ms: int) -> str:
    """Milliseconds in the largest unit that is exact: 800 ms, 2,5 s, 30 s, 10 min, 1 h."""
    if ms < SECOND:
        return f"{number(ms)}{SPACE}ms"
    for size, unit in ((HOUR, "h"), (MINUTE, "min")):
        if ms % size == 0 and ms >= 2 * size:
            return f"{number(ms // size)}{SPACE}{unit}"
    return f"{_plain(Decimal(ms) / SECOND)}{SPACE}s"


def days(count: int) -> str:
    """A number of days, in words."""
    return ngettext("%(days)s día", "%(days)s días", count) % {"days": number(count)}


def size(count: int) -> str:
    """A number of bytes, in KiB or MiB if that is exact."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if count % unit == 0 and count:
            return f"{number(count // unit)}{SPACE}{name}"
    return _("%(count)s bytes") % {"count": number(count)}


def _plain(value: Decimal) -> str:
    return number(value.normalize() if value % 1 else Decimal(int(value)))


def ago(seconds: float) -> str:
    """How many seconds ago something was, or (negative) in how many it will be, in the largest unit."""
    left = abs(int(seconds))
    if left < 60:
        return _("hace menos de un minuto") if seconds >= 0 else _("en menos de un minuto")
    if left < 3_600:
        text = ngettext("%(count)s minuto", "%(count)s minutos", left // 60) % {"count": left // 60}
    elif left < 86_400:
        text = ngettext("%(count)s hora", "%(count)s horas", left // 3_600) % {"count": left // 3_600}
    else:
        text = days(left // 86_400)
    return (_("hace %(time)s") if seconds >= 0 else _("en %(time)s")) % {"time": text}
