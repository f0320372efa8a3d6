"""The scenarios of the module page, and each as a program that runs with the API key of a workspace.

A program is what all of its kind have in common and the story, which is told once for REST and MCP.
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

SCRIPTS = "scenarios/scripts"


class Story(NamedTuple):
    """A scenario: its name in the code, in file names, its title, and how many calls of a trial it costs."""

    id: str
    file: str
    title: Any
    calls: int


class Form(NamedTuple):
    """A kind of program: its name, how its files end, the story's template, what comes before the story."""

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
    """The program of that name, in the language of the moment. KeyError for a name that is none."""
    story, form = FILES[file]
    said: dict[str, Any] = {
        "id": story.id,
        "title": story.title,
        "file": file,
        "base_url": settings.BASE_URL,
        "crowd": CROWD,
        "spanish": get_language() == "es",
    }
    said["story"] = _rendered(form.story.format(id=story.id), said).rstrip("\n")
    before = _rendered(form.before, said)
    return before if form.before == "curl.sh" else before + _rendered("story.python", said)


@require_safe
def download(request: HttpRequest, file: str) -> HttpResponse:
    """A program, as a file."""
    if file not in FILES:
        raise Http404("no such program")
    answer = HttpResponse(program(file), content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer


def _rendered(name: str, said: dict[str, Any]) -> str:
    template: Any = get_template(f"{SCRIPTS}/{name}")
    return str(template.template.render(Context(said, autoescape=False)))


urlpatterns = [path("escenarios/<str:file>", download, name="scenario_program")]
