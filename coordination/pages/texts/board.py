"""The texts of the live board. Keys of `Texts` are those that the scripts use."""

from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from coordination.pages.texts import Text, Texts
from coordination.pages.texts.module import ANSWER, BOARD, OUTCOMES


class Named(NamedTuple):
    """Something to choose or to count: its name in addresses or scripts, and its words."""

    name: str
    words: Text


class Choice(NamedTuple):
    """A list to choose from: its name in the address, its label, the view that has it, its options."""

    name: str
    label: Text
    views: str
    options: tuple[Named, ...]


VIEWS = (
    Named("recursos", _("Recursos")),
    Named("agentes", _("Agentes")),
    Named("interbloqueos", _("Interbloqueos")),
    Named("cronologia", _("Cronología")),
)
COUNTERS = (
    Named("resources", _("recursos en uso")),
    Named("holders", _("concesiones")),
    Named("waiters", _("en espera")),
    Named("deadlocks", _("interbloqueos")),
)
SPARKLINES = (
    Named("grants", _("Concesiones por segundo")),
    Named("waiters", _("Agentes en cola")),
    Named("refusals", _("Rechazos por segundo")),
)
CHOICES = (
    Choice(
        "filtro",
        _("Mostrar"),
        "recursos",
        (
            Named("", _("Todos")),
            Named("cola", _("Con cola")),
            Named("ofrecido", _("Ofrecidos")),
            Named("compartido", _("Compartidos")),
        ),
    ),
    Choice(
        "orden",
        _("Ordenar por"),
        "recursos",
        (
            Named("", _("Cola más larga")),
            Named("espera", _("Espera más antigua")),
            Named("caduca", _("Lo que antes caduca")),
            Named("nombre", _("Nombre")),
        ),
    ),
    Choice(
        "filtro",
        _("Mostrar"),
        "agentes",
        (Named("", _("Todos")), Named("tiene", _("Con algo concedido")), Named("espera", _("En espera"))),
    ),
    Choice(
        "orden",
        _("Ordenar por"),
        "agentes",
        (
            Named("", _("Lo que esperan")),
            Named("tiene", _("Lo que tienen")),
            Named("confianza", _("Menos confianza")),
            Named("nombre", _("Identificador")),
        ),
    ),
    Choice(
        "filtro",
        _("Mostrar"),
        "cronologia",
        (
            Named("", _("Todo")),
            Named("concesiones", _("Concesiones y renovaciones")),
            Named("finales", _("Devoluciones y caducidades")),
            Named("caducidades", _("Caducidades")),
            Named("rechazos", _("Rechazos")),
        ),
    ),
)

LISTS: Texts = {
    "bd_changes": {"one": _("1 cambio"), "other": _("{count} cambios")},
    "bd_offered": _("ofrecido"),
    "bd_and_more": _("y {n} más"),
    "bd_in_queue": {"one": _("1 en cola"), "other": _("{count} en cola")},
    "bd_since": _("desde hace"),
    "bd_holds": {"one": _("tiene"), "other": _("tiene {count}:")},
    "bd_waits": {"one": _("espera"), "other": _("espera {count}:")},
    "bd_free_since_token": _("libre; último testigo, {token}"),
    "bd_spark_grants": _(
        "Con las renovaciones. En {seconds} s: {mean} por segundo de media, {most} como mucho."
    ),
    "bd_spark_waiters": _("En {seconds} s: {mean} de media, {most} como mucho."),
    "bd_spark_refusals": _(
        "A la cola o por interbloqueo. En {seconds} s: {mean} por segundo de media, {most} como mucho."
    ),
}

EVENTS: Texts = {
    "bd_event_granted": OUTCOMES["granted"],
    "bd_event_renewed": OUTCOMES["renewed"],
    "bd_event_released": OUTCOMES["released"],
    "bd_event_expired": OUTCOMES["expired"],
    "bd_event_queued": _("Rechazado, en cola"),
    "bd_event_withdrawn": _("Se retira"),
    "bd_event_lapsed": _("Pierde el puesto"),
    "bd_event_offered": _("Ofrecido"),
    "bd_event_deadlock": OUTCOMES["deadlock"],
    "bd_held_by": _("lo tiene {holder}"),
    "bd_trust_moves": _("confianza {delta}, queda en {score}"),
    "bd_outage": _("por nuestra ausencia: sin penalización"),
    "bd_graphic": _("Gráfico de marcha del último minuto: {lanes} recursos y {runs} concesiones."),
}

DEADLOCKS: Texts = {
    "bd_refused_at": _("Petición rechazada a las {at}"),
    "bd_refused_why": _("Si hubiera esperado, ninguno habría avanzado. No entró en la cola."),
    "bd_circle": _(
        "El círculo que se habría cerrado, de {n} agentes; la petición rechazada lleva la señal de alto."
    ),
    "bd_circle_words": {
        "one": _("El círculo, en palabras"),
        "other": _("El círculo de {count}, en palabras"),
    },
    "bd_replay": _("Repetir paso a paso"),
    "bd_step_holds": _("{did} tiene {resource}."),
    "bd_step_waits": _("{did} pide {resource} y espera en la cola."),
    "bd_step_refused": _("{did} pide {resource}: cerraría el círculo, y se le dice que no."),
    "bd_would_wait": _("esperaría"),
    "bd_waits_for": _("espera"),
    "bd_which": _("que tiene"),
    "bd_gap": _("… {n} más …"),
    "bd_ended_released": _("Se deshizo a las {at}: lo devuelve"),
    "bd_ended_expired": _("Se deshizo a las {at}: le caduca a"),
    "bd_ended_withdrawn": _("Se deshizo a las {at}: se retira"),
    "bd_ended_lapsed": _("Se deshizo a las {at}: pierde el puesto"),
    "bd_ended_granted": _("Se deshizo a las {at}: se le concede a"),
    "bd_ended_forgotten": _("Ya no cerraría ningún círculo, o hace demasiado que se pidió."),
}

DRAWER: Texts = {
    "bd_waiter": _("Puesto {place}: {did}"),
    "bd_why_holds": _("Lo tiene {did} con el testigo {token}, hasta las {at} si no lo renueva."),
    "bd_why_ahead": _("Delante está {did}: hasta {claim} para recogerlo y {ttl} para tenerlo."),
    "bd_why_chain": _("A su vez, {did} espera {resource}, que tiene {holder}."),
    "bd_why_chain_free": _("A su vez, {did} espera {resource}, que está libre y ofrecido."),
    "bd_why_offered": _(
        "Se le está ofreciendo: es suyo si lo pide otra vez antes de {left} desde que quedó libre."
    ),
    "bd_why_latest": _("Si nadie renueva, se le ofrece como muy tarde a las {at}: dentro de {left}."),
    "bd_why_now": _("Está a punto de ofrecérsele."),
    "bd_fetching": _("Pidiendo su historia al servidor…"),
    "bd_not_fetched": _("No se ha podido pedir su historia al servidor."),
}


def all_texts() -> Texts:
    """The texts that the scripts show."""
    shared = {name: ANSWER[name] for name in ("copy", "copied", "token")}
    return {**shared, **BOARD, **LISTS, **EVENTS, **DEADLOCKS, **DRAWER}
