"""The words of problems for the scripts (what happened, why, how to mend it), and of refusals for the
catalogue."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from coordination.core.messages import Reason
from coordination.pages.texts import Text, Texts
from intramedial.web.errors import WHAT


def _problem(reason: str, what: Text, why: Text, mend: Text) -> Texts:
    return {f"problem_{reason}": what, f"problem_{reason}_why": why, f"problem_{reason}_mend": mend}


PROBLEMS: Texts = {
    **_problem(
        "malformed_json",
        _("El JSON no se entiende."),
        _("El servidor lo lee al pie de la letra: sin campos repetidos, sin NaN y en UTF-8."),
        _("corrige lo que está marcado y lanza otra vez."),
    ),
    **_problem(
        "invalid_request",
        _("La petición no es válida."),
        _("El JSON está bien escrito, pero falta algún campo o alguno no tiene la forma que debe."),
        _("mira los campos marcados en el editor."),
    ),
    **_problem(
        "actor_mismatch",
        _("No puedes hablar por ese agente."),
        _("La petición va firmada con tu clave, que solo puede nombrar a su propio DID."),
        _("pon en actorDid el DID que firma."),
    ),
    **_problem(
        "bad_signature",
        _("La firma no se ha aceptado."),
        _("O la petición cambió por el camino, o la hora de tu equipo está muy lejos de la del servidor."),
        _("pon en hora el reloj, recarga la página y lanza otra vez."),
    ),
    **_problem(
        "replayed",
        WHAT["replayed"],
        _("Cada firma vale una sola vez, para que nadie pueda repetirla."),
        _("lanza otra vez y se firmará de nuevo."),
    ),
    **_problem(
        "unauthenticated",
        _("El servidor no reconoce esta clave."),
        _("La prueba a la que pertenecía ya no existe."),
        _("olvida la clave y lanza: se creará otra."),
    ),
    **_problem(
        "trial_exhausted",
        _("Has usado todas las llamadas de prueba."),
        _("Cada clave de prueba tiene un número fijo de llamadas; lo concedido sigue su plazo."),
        _("con la beta no hay tope: pídenosla."),
    ),
    **_problem(
        "trial_expired",
        _("Tu clave de prueba ha caducado."),
        _("Las claves de prueba duran unos días y no se alargan."),
        _("olvídala y crea otra."),
    ),
    **_problem(
        "rate_limited",
        WHAT["rate_limited"],
        _("Hay topes de claves nuevas por dirección y de recursos por espacio de prueba."),
        _("espera un poco o suelta algo de lo que tienes."),
    ),
    **_problem(
        "trials_limited",
        _("Desde tu red se han creado ya las claves de prueba que caben en una hora."),
        _("El tope es por dirección, y en una oficina o con una VPN se comparte."),
        _("vuelve a lanzar dentro de {in}, o pide acceso a la beta."),
    ),
    **_problem(
        "authority_unavailable",
        _("La autoridad no contesta."),
        _("No ha podido guardar la decisión y, sin guardarla, no concede nada."),
        _("espera un segundo y lanza otra vez."),
    ),
    **_problem(
        "too_large",
        WHAT["too_large"],
        _("El cuerpo tiene un tamaño máximo."),
        _("acórtala y lanza otra vez."),
    ),
    **_problem(
        "unreachable",
        _("No se ha podido llegar al servidor."),
        _("O no hay red, o el servidor no está en marcha. No sabemos si la petición llegó."),
        _("lanza otra vez: pedir lo que ya tienes solo lo renueva."),
    ),
    **_problem(
        "unable_insecure",
        _("El navegador no da claves a esta página."),
        _("Solo lo hace en páginas servidas por HTTPS o desde este mismo equipo."),
        _("abre la página por HTTPS, o usa curl con una clave de API."),
    ),
    **_problem(
        "unable_no_ed25519",
        _("Este navegador no sabe firmar con Ed25519."),
        _("A WebCrypto le falta aquí, y la biblioteca que lo suple no ha llegado."),
        _("recarga la página, o actualiza el navegador (Chrome 137, Firefox 129, Safari 17 o posteriores)."),
    ),
    **_problem(
        "unknown",
        _("La respuesta no es la que esperábamos."),
        _("El servidor ha contestado algo que esta página no conoce."),
        _("mira la respuesta tal como llegó, aquí debajo."),
    ),
}

REFUSALS: Mapping[Reason, Text] = {
    Reason.LEASE_HELD: _("Otro agente tiene el recurso, o va delante de ti en la cola."),
    Reason.DEADLOCK: _("Si esperases, nadie avanzaría: tu espera cerraría un círculo."),
    Reason.STALE_LEASE: _("Ese leaseId no es el de una concesión que el agente tenga ahora."),
    Reason.NOT_HELD: _("El agente no tiene el recurso que quiere devolver."),
}
