"""Numbers, durations and texts in the form for people."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.utils.translation import override

from intramedial.web.amounts import days, duration, number, size
from intramedial.web.markdown import to_markdown
from intramedial.web.pretty_json import pretty

N = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "es", "en"),
    [
        (lambda: number(0), "0", "0"),
        (lambda: number(9_999), "9999", "9,999"),
        (lambda: number(10_000), "10.000", "10,000"),
        (lambda: number(1_234_567), "1.234.567", "1,234,567"),
        (lambda: number(Decimal("50.0")), "50,0", "50.0"),
        (lambda: number(Decimal("-5.0"), signed=True), "−5,0", "−5.0"),
        (lambda: number(Decimal("0.5"), signed=True), "+0,5", "+0.5"),
        (lambda: duration(25), f"25{N}ms", f"25{N}ms"),
        (lambda: duration(2_000), f"2{N}s", f"2{N}s"),
        (lambda: duration(2_500), f"2,5{N}s", f"2.5{N}s"),
        (lambda: duration(60_000), f"60{N}s", f"60{N}s"),
        (lambda: duration(600_000), f"10{N}min", f"10{N}min"),
        (lambda: duration(86_400_000), f"24{N}h", f"24{N}h"),
        (lambda: days(1), "1 día", "1 day"),
        (lambda: days(7), "7 días", "7 days"),
        (lambda: size(16_384), f"16{N}KiB", f"16{N}KiB"),
        (lambda: size(2_097_152), f"2{N}MiB", f"2{N}MiB"),
        (lambda: size(1_500), "1500 bytes", "1,500 bytes"),
    ],
)
def test_amounts_follow_the_language(value: Callable[[], str], es: str, en: str) -> None:
    for language, expected in (("es", es), ("en", en)):
        with override(language):
            assert value() == expected


def test_short_json_is_on_one_line() -> None:
    value = {"ok": True, "list": [1, 2], "deep": {"a": {"b": "x" * 30}, "c": "y" * 30}, "empty": {}}
    assert pretty(value, width=50) == (
        "{\n"
        '  "ok": true,\n'
        '  "list": [1, 2],\n'
        '  "deep": {\n'
        '    "a": {"b": "' + "x" * 30 + '"},\n'
        '    "c": "' + "y" * 30 + '"\n'
        "  },\n"
        '  "empty": {}\n'
        "}"
    )


def test_markdown_is_made_from_html() -> None:
    html = """
    <h2>Título <a class="anchor" href="#x" aria-label="Enlace">#</a></h2>
    <p>Uno  con <code>código</code> y <a href="/a">un <b>enlace</b></a>.</p>
    <ul><li>uno</li><li>dos</li></ul>
    <blockquote><p>dicho</p></blockquote>
    <table><caption>De qué va</caption><tr><th>a</th><th>b | c</th></tr>
    <tr><td>1</td><td><code>2</code></td></tr></table>
    <pre><code>{
  "a": 1
}</code></pre>
    <svg><text>dibujo</text></svg><button>pulsa</button><p class="needs-js">con JS</p>
    """
    assert to_markdown(html, "https://x.example") == (
        "## Título\n\n"
        "Uno con `código` y [un **enlace**](https://x.example/a).\n\n"
        "- uno\n- dos\n\n"
        "> dicho\n\n"
        "De qué va\n\n"
        "| a | b \\| c |\n| --- | --- |\n| 1 | `2` |\n\n"
        '```\n{\n  "a": 1\n}\n```\n'
    )
