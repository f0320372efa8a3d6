"""Error pages need no part that can fail. These tests need no browser."""

import pytest
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils.translation import override

from intramedial.web import pages


def request() -> HttpRequest:
    """A browser's request that passed no middleware, so it has no session and no user."""
    return RequestFactory().get("/algo/?a=<script>", headers={"accept": "text/html,*/*;q=0.8"})


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (lambda: pages.bad_request(request(), ValueError()), 400, "El servidor no entiende esta petición."),
        (lambda: pages.forbidden(request(), PermissionError()), 403, "Aquí no puedes entrar."),
        (lambda: pages.forbidden_csrf(request(), "no cookie"), 403, "El formulario llevaba demasiado tiempo"),
        (lambda: pages.not_found(request(), Http404()), 404, "aquí no hay ninguna página."),
        (lambda: pages.method_not_allowed(request(), "GET, HEAD"), 405, "Esta página existe, pero no admite"),
        (lambda: pages.server_error(request()), 500, "Ha fallado algo nuestro."),
    ],
    ids=("400", "403", "csrf", "404", "405", "500"),
)
def test_the_page_explains_the_error(answer: object, status: int, words: str) -> None:
    assert callable(answer)
    with override("es"):
        response: HttpResponse = answer()
    assert response.status_code == status
    assert words in response.content.decode()
    assert "<script>" not in response.content.decode()
