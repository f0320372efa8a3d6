"""The guide to live sockets, for programmers of a board of their own: messages, events, close codes."""

from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from coordination.pages.texts import Text
from intramedial.web import amounts
from intramedial.web.errors import WHAT


class Closing(NamedTuple):
    """A close code, its reason, what it means and what a client does then."""

    code: int
    reason: str
    means: Text
    then: Text


CLOSINGS = (
    Closing(
        4401,
        "unauthenticated",
        _("No hay credencial, o ya no vale: sesión terminada, clave revocada o caducada, billete usado."),
        _("No repitas con ella. Inicia sesión, o pide otra clave u otro billete."),
    ),
    Closing(4401, "trial_expired", WHAT["trial_expired"], _("No repitas.")),
    Closing(4403, "forbidden", _("Has dejado de ser miembro del espacio."), _("No repitas.")),
    Closing(4404, "not_found", _("El espacio no existe o no es tuyo."), _("No repitas.")),
    Closing(4408, "too_slow", _("No has leído nada en 10 segundos."), _("Vuelve a conectar.")),
    Closing(
        4429,
        "rate_limited",
        _("Demasiados sockets abiertos en el espacio, o demasiados mensajes tuyos seguidos."),
        _("Espera 5 segundos o más, y cada vez más."),
    ),
    Closing(1009, "too_large", _("Un mensaje tuyo era demasiado grande."), _("Corrígelo.")),
    Closing(1012, "", _("El servidor se reinicia."), _("Vuelve a conectar, cada vez más tarde.")),
    Closing(
        1013,
        "authority_unavailable",
        _("Ahora no se puede servir el panel."),
        _("Vuelve a conectar, cada vez más tarde."),
    ),
)


class EventKind(NamedTuple):
    """An event, and what it changes on a board."""

    name: str
    does: Text


KINDS = (
    EventKind(
        "granted", _("El agente lo tiene; si esperaba, deja la cola. Acaba con las ofertas que le estorban.")
    ),
    EventKind("renewed", _("Lo sigue teniendo, hasta el nuevo expiresAt.")),
    EventKind("released", _("Deja de tenerlo. trust.score es su confianza desde ahora.")),
    EventKind("expired", _("Le ha caducado. outage: fue por nuestra ausencia y no le cuesta confianza.")),
    EventKind(
        "queued", _("Entra al final de la cola, si no estaba; until: hasta cuándo se le guarda el puesto.")
    ),
    EventKind("withdrawn", _("Ha dejado la cola.")),
    EventKind("lapsed", _("Ha perdido el puesto.")),
    EventKind("offered", _("Se le ofrece hasta until.")),
    EventKind(
        "deadlock", _("Se le ha rechazado: holder, waitingOn y cycle dicen por qué. No cambia la cola.")
    ),
)


@require_safe
def guide(request: HttpRequest) -> HttpResponse:
    """The guide."""
    origin = settings.BASE_URL.replace("http", "ws", 1)
    context = {
        "member_url": f"{origin}/ws/espacios/ws_…/",
        "trial_url": f"{origin}/ws/prueba/",
        "command": f'websocat -H "Authorization: Bearer $INTRAMEDIAL_KEY" {origin}/ws/espacios/ws_…/',
        "closings": CLOSINGS,
        "kinds": KINDS,
        "sockets": amounts.number(settings.WORKSPACE_SOCKETS),
        "trial_sockets": amounts.number(settings.TRIAL_SOCKETS),
        "frame": amounts.size(settings.SOCKET_FRAME),
    }
    return render(request, "docs/live.html", context)
