"""Files for programs: robots, sitemap, the description for models; styles, images, compression."""

import gzip
import re
import struct
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.test import Client

from coordination import mcp
from intramedial import api
from tests.pages.conftest import PATHS, fetched, localized

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LINK = "{http://www.w3.org/1999/xhtml}link"
STATIC = settings.BASE_DIR / "static"
COMMENT = re.compile(r"^\s*//.*$|/\*\*(?s:.*?)\*/", re.MULTILINE)
TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
TYPES |= {"woff2": "font/woff2", "svg": "image/svg+xml", "png": "image/png"}
# What a script imports, and what a stylesheet loads.
NAMED = re.compile(r"""(?:\bfrom |\bimport |\bimport\(|\burl\()["']([./][^"']*)["']""")


def test_the_sitemap_has_every_page_in_every_language(client_get: Any) -> None:
    answer = client_get("/sitemap.xml")
    assert answer["Content-Type"] == "application/xml; charset=utf-8"
    pages = list(ElementTree.fromstring(answer.content).iter(f"{SITEMAP}url"))
    places = {page.findtext(f"{SITEMAP}loc") for page in pages}
    paths = [localized(path, language) for path in PATHS for language in ("es", "en")]
    assert places == {settings.BASE_URL + path for path in paths}
    assert len(pages) == len(paths)
    for page in pages:
        others = {link.get("hreflang"): link.get("href") for link in page.iter(LINK)}
        assert set(others) == {"es", "en"}
        assert page.findtext(f"{SITEMAP}loc") in others.values()


def test_robots_may_read_the_pages(client_get: Any) -> None:
    lines = client_get("/robots.txt").content.decode().splitlines()
    assert lines[0] == "User-agent: *"
    assert {"Disallow: /admin/", "Disallow: /api/", f"Sitemap: {settings.BASE_URL}/sitemap.xml"} <= set(lines)


def test_the_description_for_models_names_served_paths(client_get: Any) -> None:
    answer = client_get("/llms.txt")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    text = answer.content.decode()
    for path, by_method in api.routes_by_path().items():
        for method in by_method:
            assert f"- `{method} {path}`: " in text
    for path in ("/mcp", "/mcp/compat"):
        assert f"`{settings.BASE_URL}{path}`" in text
        assert path in mcp.PATHS
    assert "`coordination_lease_acquire`" in text
    assert f"Every lease lasts {settings.LEASE_TTL_MS // 1000}\N{NO-BREAK SPACE}s;" in text
    for address in re.findall(rf"\({re.escape(settings.BASE_URL)}(/[^)]*)\)", text):
        assert client_get(address).status_code == 200 or address in api.routes_by_path()
    assert not re.search(r"&\w+;|<\w", text)


def test_an_unknown_query_or_language_changes_nothing(client_get: Any) -> None:
    assert client_get("/?lang=zz&x=%00").status_code == 200
    assert client_get("/zz/").status_code == 404
    answer = client_get("/", **{"accept-language": "zz, en;q=0.9"})
    assert '<html lang="es">' in answer.content.decode()


@pytest.mark.parametrize("path", ["/no-existe/", "/en/no-existe/", "/errores/x/", "/en/errores/x/"])
def test_an_unknown_page_leads_to_the_other_language(path: str, client_get: Any) -> None:
    answer = client_get(f"{path}?a=1", accept="text/html")
    assert answer.status_code == 404
    other = path.removeprefix("/en") if path.startswith("/en/") else f"/en{path}"
    assert f'href="{other}?a=1"' in answer.content.decode()


def test_the_preview_image_has_its_declared_size() -> None:
    with open(str(finders.find("img/og.png")), "rb") as file:
        data = file.read()
    assert struct.unpack(">II", data[16:24]) == (1200, 630)
    assert len(data) < 150_000


@cache
def own_files() -> list[str]:
    """The names of the project's own static files."""
    return [file.relative_to(STATIC).as_posix() for file in STATIC.rglob("*") if file.is_file()]


def test_the_address_of_a_static_file_names_its_content(client_get: Any) -> None:
    for name in own_files():
        address = static(name)
        assert re.fullmatch(rf"/static/{name}\?v=[0-9a-f]{{12}}", address)
        answer = client_get(address)
        assert answer.status_code == 200, name
        assert int(answer["Content-Length"]) == len(answer.content)
        assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
        if (suffix := name.rpartition(".")[2]) in TYPES:
            assert answer["Content-Type"] == TYPES[suffix]


@pytest.mark.parametrize("query", ["", "?v=0123456789ab"])
def test_by_any_other_address_a_browser_asks_each_time(query: str, client_get: Any) -> None:
    first = client_get(f"/static/js/home.js{query}")
    assert first["Cache-Control"] == "no-cache"
    assert first.content == client_get(static("js/home.js")).content
    again = client_get(f"/static/js/home.js{query}", **{"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_scripts_and_stylesheets_name_others_by_their_whole_address(client_get: Any) -> None:
    named = 0
    for name in own_files():
        if name.endswith((".js", ".css")) and not name.startswith("js/bundled/"):
            code = client_get(static(name)).content.decode()
            for address in NAMED.findall(COMMENT.sub("", code)):
                assert address == static(address.removeprefix("/static/").partition("?")[0]), name
                named += 1
    assert named > 200


def test_files_of_applications_are_served_too(client_get: Any) -> None:
    assert static("admin/css/widgets.css") in client_get(static("admin/css/forms.css")).content.decode()


def test_a_static_file_that_does_not_exist_is_a_fault_of_the_page(client_get: Any) -> None:
    assert client_get("/static/js/nope.js").status_code == 404
    with pytest.raises(ValueError, match=r"js/nope\.js"):
        static("js/nope.js")


def test_a_static_file_can_only_be_read() -> None:
    answer = Client().post("/static/js/home.js")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_while_developing_a_file_is_seen_as_it_is(client_get: Any, settings: Any) -> None:
    settings.DEBUG = True
    assert static("js/home.js") == "/static/js/home.js"
    answer = client_get("/static/js/home.js")
    assert answer["Cache-Control"] == "no-cache"
    assert answer.content == (STATIC / "js" / "home.js").read_bytes()
    assert client_get("/static/js/nope.js").status_code == 404


def test_stylesheets_are_whole() -> None:
    texts = {name: (STATIC / name).read_text("utf-8") for name in own_files() if name.endswith(".css")}
    assert [name for name, text in texts.items() if text.count("{") != text.count("}")] == []


@pytest.mark.parametrize("path", ["/", "/static/js/home.js", "/static/css/base.css", "/static/img/icons.svg"])
def test_text_is_compressed_for_clients_that_accept_it(path: str, client_get: Any) -> None:
    plain, packed = client_get(path), client_get(path, **{"accept-encoding": "br, gzip"})
    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert gzip.decompress(packed.content) == plain.content
    assert int(packed.get("Content-Length", len(packed.content))) == len(packed.content)


def test_fonts_are_not_compressed_twice(client_get: Any) -> None:
    path = "/static/fonts/sofia-sans-latin-400-normal.woff2"
    assert not client_get(path, **{"accept-encoding": "gzip"}).has_header("Content-Encoding")


def test_the_gallery_is_for_developers(client_get: Any, settings: Any) -> None:
    assert client_get("/estilo/").status_code == 404
    settings.DEBUG = True
    page = Client().get("/estilo/")
    assert page.status_code == 200
    assert page.content.decode().count('class="specimen"') == 2
    assert fetched("/").count("/estilo/") == 0
