"""`/estilo/`: every component in every state and in both themes, for authors of pages; only in DEBUG."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from coordination.pages.module import article, fields, figures, samples
from coordination.pages.texts import module as texts
from intramedial.http.problems import REASONS
from intramedial.web import errors

TOKENS = ("paper", "paper-sunk", "ink", "ink-soft", "ink-faint", "rule", "rule-strong", "staff", "go", "stop")
LONG = "lock:" + "un-nombre-larguísimo/" * 11 + "fin"
LONG_DID = "did:web:" + "agentes.ejemplo." * 14 + "example"


class Specimen(forms.Form):
    """A form with a field of each kind."""

    name = forms.CharField(label="Nombre", help_text="La ayuda va entre la etiqueta y el campo.")
    note = forms.CharField(label="Nota", widget=forms.Textarea, required=False)
    role = forms.ChoiceField(label="Papel", choices=[("owner", "Propietario"), ("viewer", "Lector")])
    kind = forms.ChoiceField(
        label="Clase", choices=[("a", "Del espacio"), ("b", "De un agente")], widget=forms.RadioSelect
    )
    agree = forms.BooleanField(label="Lo he entendido", help_text="Una casilla, sus palabras al lado.")


@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    """The gallery; 404 unless DEBUG is on."""
    if not settings.DEBUG:
        raise Http404("only while developing")
    context = {
        **figures.figures(),
        "themes": ("light", "dark"),
        "tokens": TOKENS,
        "refused": samples.one_lock()[1],
        "granted": samples.one_lock()[0],
        "rows": [*fields.claims()[:3], fields.FieldRow("x" * 60, False, LONG)],
        "reasons": article.reasons(),
        "long": LONG,
        "texts": texts.ALL,
        "limits": figures.limits(),
        "states": states(),
        "forms": {
            theme: Specimen({"note": LONG, "role": "owner"}, auto_id=f"{theme}-%s")
            for theme in ("light", "dark")
        },
    }
    return render(request, "estilo.html", context)


def states() -> dict[str, Any]:
    """The data for components drawn by scripts: answers, problems, boards, claims of a receipt."""
    answers = [sample.answer for sample in (*samples.one_lock(), *samples.refusals().values())]
    long = {**answers[0]["lease"], "resource": LONG, "holder": LONG_DID}
    return {
        "answers": [*answers, {"ok": True, "lease": long}, {"ok": True, "withdrawn": True}],
        "problems": [*REASONS, "unreachable", "unable_insecure", "unable_no_ed25519", "unknown"],
        "boards": [sample.answer for sample in (samples.crashed_holder()[2], samples.broken_deadlock()[-1])],
        "long": {"resource": LONG, "did": LONG_DID},
        "claims": fields.example_claims(answers[0]),
        "requestId": errors.REQUEST_ID,
    }
