"""The security headers of every page, and the admin's static files."""

import re

import pytest
from django.test import Client

from intramedial.http.security import content_security_policy, headers


def policy(response):
    """The content security policy as {directive: [source, …]}."""
    pairs = (part.split() for part in response["Content-Security-Policy"].split(";"))
    return {words[0]: words[1:] for words in pairs}


@pytest.mark.parametrize("path", ["/admin/login/", "/static/admin/css/base.css", "/no-such-page/"])
def test_every_page_has_the_strict_policy(path):
    found = policy(Client().get(path))
    assert found["default-src"] == ["'none'"]
    assert (
        found["script-src"] == found["style-src"] == found["font-src"] == found["form-action"] == ["'self'"]
    )
    assert found["img-src"] == ["'self'", "data:"]
    assert found["frame-ancestors"] == found["base-uri"] == ["'none'"]
    assert not re.search(r"unsafe|\*|https?:", str(found))


@pytest.mark.parametrize("path", ["/admin/login/", "/static/admin/css/base.css"])
def test_every_page_has_the_other_security_headers(path):
    answer = Client().get(path)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["X-Request-ID"].startswith("req_")


def test_sockets_of_the_same_host_are_allowed():
    assert "connect-src 'self' wss://a.example:1" in content_security_policy("https://a.example:1")
    assert "connect-src 'self' ws://127.0.0.1:8000" in content_security_policy("http://127.0.0.1:8000")


def test_strict_transport_security_is_sent_over_https_only(settings):
    headers.cache_clear()
    assert "Strict-Transport-Security" not in headers()
    headers.cache_clear()
    settings.BASE_URL = "https://api.intramedial.com"
    assert headers()["Strict-Transport-Security"].startswith("max-age=31536000")
    headers.cache_clear()


def test_an_unknown_host_is_refused():
    assert Client(headers={"host": "evil.example"}).get("/admin/login/").status_code == 400


class TestStaticFiles:
    path = "/static/admin/css/base.css"

    def test_a_file_is_served_without_being_collected(self):
        answer = Client().get(self.path)
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/css")
        assert not answer.streaming

    def test_a_browser_that_asks_again_receives_304(self):
        first = Client().get(self.path)
        again = Client().get(self.path, headers={"if-none-match": first["ETag"]})
        assert first["Cache-Control"] == "no-cache"
        assert (again.status_code, again.content) == (304, b"")

    def test_files_outside_are_not_served(self):
        assert Client().get("/static/../manage.py").status_code == 404
        assert Client().get("/static/%2e%2e/manage.py").status_code == 404
