"""What a lease guarantees and what it does not, each with the part of the page that shows it, and its proof.

A proof is a test of this project, `file::name`; a test checks that it exists.
"""

from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from coordination.pages.texts import Text


class Promise(NamedTuple):
    """One line: its words, the anchor and the title of the part that shows it, and the test that proves
    it."""

    words: Text
    anchor: str
    shown_by: Text
    test: str

    @property
    def file(self) -> str:
        """The test's file."""
        return self.test.partition("::")[0]

    @property
    def name(self) -> str:
        """The test's function."""
        return self.test.partition("::")[2]


LOCK = ("situacion-candado", _("Dos agentes y un candado"))
CRASH = ("situacion-caida", _("Un titular que se cae"))
CYCLE = ("situacion-interbloqueo", _("Un interbloqueo que no llega a cerrarse"))
STAMPEDE = ("situacion-estampida", _("Cincuenta a por un fichero"))
STEPS = ("mecanismo", _("Cómo funciona"))
RECEIPTS = ("construccion-recibos", _("Recibos y libro"))
STORAGE = ("construccion-disco", _("Tiempo y disco"))
READS = ("construccion-lecturas", _("Lecturas compartidas"))
TRUST = ("construccion-confianza", _("Confianza"))

DOES = (
    Promise(
        _("Un recurso exclusivo tiene, como mucho, un titular."),
        *LOCK,
        "tests/core/test_explore.py::test_a_small_world_has_no_violation",
    ),
    Promise(
        _("El testigo solo sube: tras devolver, tras caducar y tras reiniciar el servidor."),
        *CRASH,
        "tests/core/test_rules_time.py::test_tokens_rise_through_release_expiry_upgrade_and_return",
    ),
    Promise(
        _("Todas las concesiones duran lo mismo; ningún agente pide más ni menos."),
        *STEPS,
        "tests/api/test_situations.py::test_asking_again_renews_and_ttl_ms_is_ignored",
    ),
    Promise(
        _("Se respeta el orden de llegada: nadie pasa por delante de otro con quien choca."),
        *LOCK,
        "tests/core/test_rules_acquire.py::test_a_reader_does_not_overtake_a_waiting_writer",
    ),
    Promise(
        _("Esperar nunca acaba en interbloqueo: se rechaza la petición que cerraría el círculo."),
        *CYCLE,
        "tests/core/test_rules_deadlock.py::test_the_second_half_of_a_cycle_is_refused_and_named",
    ),
    Promise(
        _("Lo que caduca se recoge una sola vez y se cobra una sola vez."),
        *CRASH,
        "tests/core/test_rules_time.py::test_one_lease_is_reclaimed_once_and_costs_once",
    ),
    Promise(
        _("Una cola de agentes caídos retiene un recurso libre lo que dura una oferta, no una por cabeza."),
        *CRASH,
        "tests/core/test_rules_offers.py::test_a_queue_of_dead_agents_delays_a_free_resource_by_one_offer",
    ),
    Promise(
        _("A quien espera se le dice cuánto, para que muchos no pregunten a la vez."),
        *STAMPEDE,
        "tests/api/test_situations.py::test_a_stampede_of_fifty_for_one_file",
    ),
    Promise(
        _("Los lectores comparten; quien escribe, no."),
        *READS,
        "tests/api/test_situations.py::test_readers_share_what_a_writer_does_not",
    ),
    Promise(
        _("Cada respuesta al pedir y al devolver lleva un recibo que comprueba cualquier biblioteca JOSE."),
        *RECEIPTS,
        "tests/receipts/test_receipts.py::test_other_libraries_verify_it_with_the_published_keys",
    ),
    Promise(
        _("Lo concedido ya está en disco cuando recibes la respuesta."),
        *STORAGE,
        "tests/api/test_server.py::test_after_kill_9_leases_are_held_and_tokens_go_on",
    ),
    Promise(
        _("Una avería nuestra no le cuesta confianza a nadie."),
        *STORAGE,
        "tests/core/test_rules_time.py::test_an_outage_costs_no_agent_trust_and_the_event_says_so",
    ),
    Promise(
        _("Lo de un espacio de trabajo ni se ve ni pesa en otro."),
        *LOCK,
        "tests/api/test_situations.py::test_another_workspace_has_other_locks",
    ),
)

DOES_NOT = (
    Promise(
        _("Que el trabajo se hiciera. Dice quién podía hacerlo, no si lo hizo ni si lo hizo bien."),
        *TRUST,
        "tests/core/test_rules_release.py::test_a_holder_releases_with_or_without_the_id",
    ),
    Promise(
        _("Una duración a tu gusto. Quien necesita más tiempo renueva; quien necesita menos devuelve."),
        *STEPS,
        "tests/core/test_rules_acquire.py::test_no_request_can_say_how_long_a_lease_lasts",
    ),
    Promise(
        _("Una concesión cuando la red está cortada. Sin autoridad no hay concesión."),
        *STORAGE,
        "tests/api/test_short_path.py::test_an_authority_that_does_not_answer",
    ),
    Promise(
        _(
            "Exclusión dentro del sistema que proteges. Quien perdió la concesión puede seguir vivo y "
            "escribiendo: el sistema tiene que rechazar todo testigo menor que el mayor que haya visto."
        ),
        *CRASH,
        "tests/api/test_situations.py::test_a_crashed_holder_loses_trust_once_and_the_next_gets_the_lock",
    ),
    Promise(
        _("Un final para quien renueva. Un titular puede seguir renovando; acquiredAt dice desde cuándo."),
        *STEPS,
        "tests/core/test_rules_acquire.py::test_a_renewal_overtakes_waiters",
    ),
    Promise(
        _("Que la confianza no se gane con recursos que nadie más quiere."),
        *TRUST,
        "tests/core/test_rules_time.py::test_trust_stops_at_a_hundred_and_the_event_has_the_real_change",
    ),
)
