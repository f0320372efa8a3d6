"""The way into the documentation: what there is to read."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All there is to read, for people and for programs."""
    return render(request, "docs/index.html")


urlpatterns = [path("docs/", index, name="docs")]
