"""Errors of pages: a problem for programs, a page for people."""

import json

import pytest
from django.test import Client

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
PATHS = (
    "/nada/",
    "/en/nothing/",
    "/nada",
    "/api",
    "/mcp/x",
    "/ws/espacios/ws_1/",
    "/errores/none/",
    "/css/none.css",
)
PROGRAMS = (
    {},
    {"accept": "*/*"},
    {"accept": ""},
    {"accept": "application/json"},
    {"accept": "application/problem+json"},
    {"accept": "application/vnd.api+json"},
    {"accept": "application/json, text/plain, */*"},
    {"accept": "application/json, text/event-stream"},
    {"accept": "application/json, text/html"},
    {"accept": "text/html;q=0.5, application/json;q=0.9"},
    {"accept": "text/html;q=0, */*"},
    {"accept": "*/*", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
)
PEOPLE = (
    {"accept": BROWSER},
    {"accept": "text/html"},
    {"accept": "text/*"},
    {"accept": "text/html, application/json"},
    {"accept": "application/xhtml+xml, application/json;q=0.9"},
    {"accept": "*/*", "sec-fetch-mode": "navigate"},
    {"accept": "*/*", "sec-fetch-dest": "document"},
)


def is_problem(answer, status):
    """Fails unless the answer is a problem with that status."""
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    body = json.loads(answer.content)
    assert (body["ok"], body["status"]) == (False, status)
    assert body["requestId"] == answer["X-Request-ID"]
    assert "Accept" in answer["Vary"]
    assert answer["Cache-Control"] == "no-store"
    return body


def is_page(answer, status):
    """Fails unless the answer is a page with that status."""
    assert answer.status_code == status
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert answer.content.startswith(b"<!doctype html>")
    assert "Accept" in answer["Vary"]
    return answer.content.decode()


@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_path_is_a_page_or_a_problem(client_get, path):
    for headers in PROGRAMS:
        body = is_problem(client_get(path, **headers), 404)
        assert (body["reason"], body["title"]) == ("not_found", "Not found")
        assert "/openapi.json" in body["detail"]
    for headers in PEOPLE:
        assert "<h1>" in is_page(client_get(path, **headers), 404)


def test_a_client_that_sends_json_gets_json():
    for content_type in ("application/json", "application/json; charset=utf-8", "application/problem+json"):
        answer = Client().post(
            "/nada/", "{}", content_type=content_type, headers={"host": "127.0.0.1", "accept": BROWSER}
        )
        is_problem(answer, 404)
    form = Client().post("/nada/", {"a": "b"}, headers={"host": "127.0.0.1", "accept": BROWSER})
    is_page(form, 404)


@pytest.mark.parametrize(
    "path", ["/docs/mcp/", "/en/docs/mcp/", "/", "/verificar/", "/robots.txt", "/llms.txt"]
)
def test_an_unknown_method_is_a_page_or_a_problem(path):
    for method in ("PUT", "DELETE", "PATCH"):
        program = Client().generic(method, path, headers={"host": "127.0.0.1", "accept": "application/json"})
        body = is_problem(program, 405)
        assert body["title"] == "Method not allowed"
        assert "GET" in body["detail"]
        person = Client().generic(method, path, headers={"host": "127.0.0.1", "accept": BROWSER})
        text = is_page(person, 405)
        assert ("does not take what was asked" if path.startswith("/en/") else "no admite lo que") in text
        assert program["Allow"] == person["Allow"] != ""


def test_an_unknown_method_is_reported_where_no_token_is_required():
    answer = Client(enforce_csrf_checks=True).options(
        "/docs/mcp/", headers={"host": "127.0.0.1", "accept": "application/json"}
    )
    is_problem(answer, 405)


def test_a_form_without_its_token_is_refused():
    for accept, check in (("*/*", is_problem), (BROWSER, is_page)):
        answer = Client(enforce_csrf_checks=True).post(
            "/acceso/", {"a": "b"}, headers={"host": "127.0.0.1", "accept": accept}
        )
        check(answer, 403)


def test_a_bad_accept_header_causes_no_server_error(client_get):
    for accept in ("a", "/", ";;;", "text/html;q=x", "application/json;q=nan", "*", ", ,", "é", "x" * 5000):
        assert client_get("/nada/", accept=accept).status_code == 404
