"""Stylesheets and scripts in templates, by their names in `static/css` and `static/js`."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from intramedial.web.static_files import static_file

register = template.Library()


@register.simple_tag
def stylesheets(*names: str) -> SafeString:
    """`{% stylesheets "base" "pages/home" %}`: links to stylesheets, in this order."""
    sheets = [static_file(f"css/{name}.css") for name in names]
    return _lines(format_html('<link rel="stylesheet" href="{}">', sheet.address) for sheet in sheets)


@register.simple_tag
def modules(*names: str) -> SafeString:
    """`{% modules "home" %}`: scripts that are modules, and links to all that they import, so that a browser
    fetches it at once instead of when it has read what imports it."""
    scripts = [static_file(f"js/{name}.js") for name in names]
    imports = dict.fromkeys(address for script in scripts for address in script.imports)
    lines = [format_html('<link rel="modulepreload" href="{}">', address) for address in imports]
    lines += [format_html('<script type="module" src="{}"></script>', script.address) for script in scripts]
    return _lines(lines)


def _lines(tags: Iterable[SafeString]) -> SafeString:
    return format_html_join("\n  ", "{}", ((tag,) for tag in tags))
