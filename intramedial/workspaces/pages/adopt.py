"""The page on which a person adopts the trial of their browser, which signs a proof with the trial key."""

import time

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from intramedial.audit import record
from intramedial.identity import proofs
from intramedial.workspaces import access, forms, idempotent_form, provision, trials
from intramedial.workspaces.pages.signers import why


@require_http_methods(["GET", "HEAD", "POST"])
@access.person_page
def adopt(request: HttpRequest) -> HttpResponse:
    """GET: the page, whose script looks for the trial key.

    POST, from that script, answers JSON: `path` (of the workspace) and `workspace`, or `errors` by field and
    a new token `once` (422).
    """
    purpose = f"adopt {request.user.pk}"
    form = forms.AdoptForm(forms.sent(request), purpose=purpose, initial={"name": _("Mi prueba")})
    if request.method != "POST":
        context = {
            "form": form,
            "audience": settings.BASE_URL,
            "typ": proofs.ADOPTION,
            "now": int(time.time()),
        }
        return render(request, "workspace/adopt.html", context)
    if form.is_valid() and (public_id := _adopt(request, form)):
        return JsonResponse({"workspace": public_id, "path": reverse("workspace", args=[public_id])})
    errors = {name: [str(error) for error in faults] for name, faults in form.errors.items()}
    return JsonResponse({"errors": errors, "once": idempotent_form.token(purpose)}, status=422)


def _adopt(request: HttpRequest, form: forms.AdoptForm) -> str:
    given = form.cleaned_data
    claims = {"did": given["did"], "for": given["once"], "aud": settings.BASE_URL}
    try:
        proofs.check(given["proof"], claims, now=time.time(), typ=proofs.ADOPTION)
        with transaction.atomic():
            workspace, new = trials.adopt(given["did"], access.user_id(request), given["name"])
            if new:
                record.act(request, "trial.adopted", workspace=workspace.public_id, target=given["did"])
    except proofs.BadProof as error:
        form.add_error(None, why(error))
    except trials.NotAdoptable:
        form.add_error(None, _("Esa prueba ya no se puede adoptar: ha caducado, o ya es de alguien."))
    except provision.TooManyWorkspaces:
        form.add_error(None, forms.too_many_workspaces())
    else:
        return str(workspace.public_id)
    return ""
