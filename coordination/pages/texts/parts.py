"""The texts of the parts of the module page that are fetched when they are first used."""

from django.utils.translation import gettext_lazy as _

from coordination.pages.texts import Texts

SCENARIOS: Texts = {
    "sc_run": _("Ejecutar"),
    "sc_step": _("Paso"),
    "sc_pause": _("Pausa"),
    "sc_go_on": _("Seguir"),
    "sc_again": _("Otra vez"),
    "sc_speed": _("Velocidad"),
    "sc_cost": {
        "one": _("Cuenta como una de tus llamadas."),
        "other": _("Cuesta {calls} de tus llamadas."),
    },
    "sc_too_short": {
        "one": _("Cuesta una llamada y no te queda ninguna."),
        "other": _("Cuesta {calls} llamadas y te quedan {left}."),
    },
    "sc_adopted": _(
        "Los escenarios se juegan en una prueba, y la tuya es ahora un espacio. Con «Olvidar la clave» "
        "puedes empezar otra; el espacio sigue siendo tuyo."
    ),
    "sc_lanes": _("Los agentes"),
    "sc_track": _("El recurso y su cola"),
    "sc_checks": _("Lo que tiene que cumplirse"),
    "sc_pending": _("por ver"),
    "sc_all_hold": _("Se cumple todo."),
    "sc_some_fail": _("Algo no se cumple."),
    "sc_export": _("Lo mismo como programa:"),
    "sc_receipt_ok": _("recibo verificado"),
    "sc_receipt_bad": _("el recibo no se verifica"),
    "sc_do_lease": _("Pide el recurso"),
    "sc_do_release": _("Devuelve el recurso"),
    "sc_do_release_late": _("Vuelve tarde y devuelve"),
    "sc_wait_expired": _("El agente {letter} ya no contesta. Nadie pregunta: se espera a que caduque"),
    "sc_left": _("quedan"),
    "sc_comes_back": _("vuelve a los {later}: le dijeron {told}, y algo de azar"),
    "sc_said_expired": _("La autoridad lo ha recogido y se lo ofrece al siguiente."),
    "sc_said_released": _("confianza {score}"),
    "sc_said_lease_held": _("puesto {place}, vuelve en {wait}"),
    "sc_said_deadlock": _("no esperes: cerrarías el círculo"),
    "sc_said_stale_lease": _("esa concesión ya no vale"),
    "sc_said_not_held": _("no lo tiene"),
    "sc_lock_words": _(
        "Dos agentes quieren desplegar a producción. El segundo recibe un no que le sirve: quién lo tiene, "
        "qué puesto ocupa y cuándo volver. Cuando el primero devuelve, pasa él, con un testigo mayor."
    ),
    "sc_lock_one_holder": _("Nunca hay dos titulares."),
    "sc_lock_told": _("A B se le dice quién lo tiene, su puesto y cuándo volver."),
    "sc_lock_trust": _("Devolver suma confianza."),
    "sc_lock_trust_seen": _("A tiene ahora {score}."),
    "sc_lock_rises": _("El testigo sube."),
    "sc_lock_rises_seen": "{after} > {before}",
    "sc_lock_receipts": _("Cada recibo se verifica en tu navegador."),
    "sc_lock_receipts_seen": _("{n} de {n}"),
    "sc_crash_words": _(
        "El agente A tiene el candado y se cae: no vuelve a hablar. Cuando vence su plazo la autoridad lo "
        "recoge sola, le quita confianza una vez y se lo ofrece a B. Luego A vuelve, tarde, y no puede "
        "estropear nada."
    ),
    "sc_crash_one_holder": _("Nunca hay dos titulares."),
    "sc_crash_expiry": _("Caduca a su hora, sin que nadie pregunte."),
    "sc_crash_once": _("A pierde confianza una sola vez."),
    "sc_crash_once_seen": _("A tiene ahora {score}."),
    "sc_crash_offered": _("Se le ofrece a B, el primero de la cola."),
    "sc_crash_rises": _("El testigo sube."),
    "sc_crash_rises_seen": "{after} > {before}",
    "sc_crash_stale": _("La devolución tardía de A no toca lo de B."),
    "sc_crash_receipts": _("Cada recibo se verifica en tu navegador."),
    "sc_crash_receipts_seen": _("{n} de {n}"),
    "sc_deadlock_words": _(
        "Cada agente tiene un recurso y quiere el del otro. El primero que pide espera en la cola; al "
        "segundo se le dice que no antes de entrar, con el círculo que cerraría. Devuelve lo suyo y el otro"
        " pasa."
    ),
    "sc_deadlock_one_holder": _("Nunca hay dos titulares de un recurso."),
    "sc_deadlock_refused": _("Se rechaza la petición que cerraría el círculo."),
    "sc_deadlock_named": _("La respuesta nombra a quién espera y a qué."),
    "sc_deadlock_named_seen": "{waitingOn}",
    "sc_deadlock_keeps": _("A sigue en su puesto y B no entra en la cola."),
    "sc_deadlock_goes_on": _("B devuelve lo suyo y A pasa."),
    "sc_deadlock_receipts": _("Cada recibo se verifica en tu navegador."),
    "sc_deadlock_receipts_seen": _("{n} de {n}"),
    "sc_stampede_words": _(
        "Cincuenta agentes piden el mismo fichero a la vez. Los lleva el servidor, en tu espacio, y todo "
        "cuenta como una sola llamada; cada respuesta es una decisión de verdad. Cada uno espera lo que le "
        "dicen, más un poco de azar, hasta que lo tiene una vez. Sus recibos van firmados y no se guardan en "
        "el libro."
    ),
    "sc_stampede_one_holder": _("Nunca hay dos titulares."),
    "sc_stampede_one_call": _("Cuenta como una llamada."),
    "sc_stampede_one_call_seen": _("De {before} a {after}."),
    "sc_stampede_fifty": _("Preguntan los cincuenta."),
    "sc_stampede_fifty_seen": _("{n} han preguntado."),
    "sc_stampede_eight": _("En la cola hay como mucho {queue}."),
    "sc_stampede_none_twice": _("Los cincuenta lo tienen, y ninguno dos veces."),
    "sc_stampede_rises": _("El testigo sube una vez por concesión."),
    "sc_stampede_rises_seen": "{after} > {before}",
    "sc_crowd": _("Los cincuenta agentes"),
    "sc_crowd_name": _("Agente {n}"),
    "sc_crowd_ready": _("Aún no ha preguntado ninguno."),
    "sc_crowd_runs": _("Preguntan todos a la vez."),
    "sc_crowd_end": _("Entre todos han preguntado {asks} veces."),
    "sc_crowd_holds": _("lo tiene"),
    "sc_crowd_queued": _("en la cola"),
    "sc_crowd_told": _("esperan lo que se les dijo"),
    "sc_crowd_done": _("ya lo han devuelto"),
    "sc_cell_holds": _("Agente {agent}: lo tiene"),
    "sc_cell_place": _("{place}.º"),
    "sc_cell_queued": _("Agente {agent}: puesto {place}"),
    "sc_cell_told": _("Agente {agent}: vuelve en {wait}"),
    "sc_cell_done": _("Agente {agent}: lo ha devuelto"),
    "problem_unseen": _("La conexión en vivo no lo ha contado a tiempo."),
    "problem_unseen_mend": _("comprueba la red y ejecútalo otra vez."),
}

EDITOR: Texts = {
    "schema_missing": _("falta el campo {name}."),
    "schema_ignored": _("el campo {name} no se lee."),
    "schema_not_text": _("tiene que ser un texto, entre comillas."),
    "schema_empty": _("está vacío."),
    "schema_too_long": _("tiene más de {most} caracteres."),
    "schema_not_did": _("no tiene la forma de un DID: did:método:…"),
    "schema_not_number": _("tiene que ser un número entero."),
    "schema_out_of_range": _("tiene que estar entre {minimum} y {maximum}."),
}

SNIPPETS: Texts = {"mcp_then": _("Y después, la herramienta:")}

HISTORY: Texts = {
    "hi_clear": _("Vaciar, menos lo fijado"),
    "hi_empty": _("Aún no has lanzado nada. Lo que lances se guarda aquí, solo en este navegador."),
    "hi_choose_two": {
        "one": _("Una petición, solo en este navegador. Cuando haya más, marca dos para compararlas."),
        "other": _("Las últimas {n}, solo en este navegador. Marca dos para compararlas."),
    },
    "hi_choose_one": _("Marca otra para compararlas."),
    "hi_chosen": _("Comparadas, debajo."),
    "hi_compare": _("Comparar {what}"),
    "hi_pin": _("Fijar"),
    "hi_unpin": _("Dejar de fijar"),
    "hi_again": _("Repetir"),
    "hi_comparison": _("Comparación"),
    "hi_earlier": _("Antes"),
    "hi_later": _("Después"),
    "hi_when": _("Cuándo"),
    "hi_operation": _("Operación"),
    "hi_outcome": _("Resultado"),
    "hi_took": _("Tiempo en total"),
    "hi_request": _("Petición"),
    "hi_answer": _("Respuesta"),
    "hi_same": _("Iguales."),
    "hi_only_earlier": _("solo antes"),
    "hi_only_later": _("solo después"),
}

HELP: Texts = {
    "help_title": _("Atajos de teclado"),
    "help_launch": _("Lanzar, desde cualquier sitio"),
    "help_leave": _("Salir del editor"),
    "help_operation": _("Elegir la operación"),
    "help_editor": _("Ir al editor"),
    "help_answer": _("Ir a la respuesta"),
    "help_history": _("Abrir el historial"),
    "help_help": _("Esta ayuda"),
    "help_single": _("Usar los atajos de una sola tecla"),
    "help_close": _("Cerrar"),
}

PARTS: dict[str, Texts] = {
    "scenarios": SCENARIOS,
    "editor": EDITOR,
    "snippets": SNIPPETS,
    "history": HISTORY,
    "help": HELP,
}
