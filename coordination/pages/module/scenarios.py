"""The scenarios of the module page, and each as a program that runs with the API key of a workspace.

A program consists of a part that all of its kind share, and of the story. The Python programs for REST and
MCP have the same story.
"""

from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template import Context
from django.template.loader import get_template
from django.urls import path, reverse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from coordination.pages.module.samples import CROWD
from coordination.pages.texts import Text

SCRIPTS = "scenarios/scripts"


class Story(NamedTuple):
    """A scenario: its name in the code and in file names, its title, and how many calls of a trial it
    costs."""

    id: str
    file: str
    title: Text
    calls: int


class Form(NamedTuple):
    """A kind of program: its name, the ending of its files, the template of the story, the template before
    it."""

    name: str
    ending: str
    story: str
    before: str


STORIES = (
    Story("lock", "candado", _("Dos agentes y un candado"), 5),
    Story("crash", "caida", _("Un titular que se cae"), 5),
    Story("deadlock", "interbloqueo", _("Un interbloqueo evitado"), 6),
    Story("stampede", "estampida", _("Cincuenta a por un fichero"), 1),
)
FORMS = (
    Form("curl", ".sh", "{id}.sh", "curl.sh"),
    Form("Python", ".py", "{id}.python", "rest.python"),
    Form("MCP", ".mcp.py", "{id}.python", "mcp.python"),
)
FILES = {story.file + form.ending: (story, form) for story in STORIES for form in FORMS}


def context() -> list[dict[str, Any]]:
    """The stories for the page: id, title, calls, exports (name, url)."""
    return [
        {
            "id": story.id,
            "title": story.title,
            "calls": story.calls,
            "exports": [
                {"name": form.name, "url": reverse("scenario_program", args=[story.file + form.ending])}
                for form in FORMS
            ],
        }
        for story in STORIES
    ]


def program(file: str) -> str:
    """The program of that file name, in the active language. Raises KeyError for an unknown name."""
    story, form = FILES[file]
    values: dict[str, Any] = {
        "id": story.id,
        "title": story.title,
        "file": file,
        "base_url": settings.BASE_URL,
        "crowd": CROWD,
        "spanish": get_language() == "es",
    }
    values["story"] = _rendered(form.story.format(id=story.id), values).rstrip("\n")
    before = _rendered(form.before, values)
    return before if form.before == "curl.sh" else before + _rendered("story.python", values)


@require_safe
def download(request: HttpRequest, file: str) -> HttpResponse:
    """A program as a file."""
    if file not in FILES:
        raise Http404("no such program")
    answer = HttpResponse(program(file), content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer


def _rendered(name: str, values: dict[str, Any]) -> str:
    template: Any = get_template(f"{SCRIPTS}/{name}")
    return str(template.template.render(Context(values, autoescape=False)))


urlpatterns = [path("escenarios/<str:file>", download, name="scenario_program")]
