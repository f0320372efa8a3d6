"""Numbers and durations as people read them, in the language of the page."""

from decimal import Decimal

from django.utils.formats import get_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

# No break between a number and its unit.
SPACE = "\N{NO-BREAK SPACE}"
# As CLDR has it, which browsers follow: Spanish groups numbers from five digits on.
GROUPS = {"es": (".", 10_000), "en": (",", 1_000)}
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
KIB, MIB = 1_024, 1_048_576


def number(value: int | Decimal, *, signed: bool = False) -> str:
    """A number with the decimal and grouping marks of the language; `signed` shows a plus too."""
    mark, least = GROUPS[(get_language() or "es")[:2]]
    whole, _dot, decimals = format(abs(value), "f" if isinstance(value, Decimal) else "d").partition(".")
    if int(whole) >= least:
        whole = f"{int(whole):,}".replace(",", mark)
    text = f"{whole}{get_format('DECIMAL_SEPARATOR')}{decimals}" if decimals else whole
    sign = "\N{MINUS SIGN}" if value < 0 else "+" if signed else ""
    return sign + text


def duration(ms: int) -> str:
    """Milliseconds in the largest unit that says them exactly: 800 ms, 2,5 s, 30 s, 10 min, 1 h."""
    if ms < SECOND:
        return f"{number(ms)}{SPACE}ms"
    for size, unit in ((HOUR, "h"), (MINUTE, "min")):
        if ms % size == 0 and ms >= 2 * size:
            return f"{number(ms // size)}{SPACE}{unit}"
    return f"{_plain(Decimal(ms) / SECOND)}{SPACE}s"


def days(count: int) -> str:
    """So many days, in words."""
    return ngettext("%(days)s día", "%(days)s días", count) % {"days": number(count)}


def size(count: int) -> str:
    """Bytes, in KiB or MiB where that is exact."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if count % unit == 0 and count:
            return f"{number(count // unit)}{SPACE}{name}"
    return _("%(count)s bytes") % {"count": number(count)}


def _plain(value: Decimal) -> str:
    return number(value.normalize() if value % 1 else Decimal(int(value)))


def ago(seconds: float) -> str:
    """How long ago something was, or in how long it will be (negative), in its largest unit."""
    left = abs(int(seconds))
    if left < 60:
        return _("hace menos de un minuto") if seconds >= 0 else _("en menos de un minuto")
    if left < 3_600:
        told = ngettext("%(count)s minuto", "%(count)s minutos", left // 60) % {"count": left // 60}
    elif left < 86_400:
        told = ngettext("%(count)s hora", "%(count)s horas", left // 3_600) % {"count": left // 3_600}
    else:
        told = days(left // 86_400)
    return (_("hace %(time)s") if seconds >= 0 else _("en %(time)s")) % {"time": told}
