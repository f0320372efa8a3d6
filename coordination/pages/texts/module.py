"""The texts that scripts of the module page show, by the keys that they use."""

from django.utils.translation import gettext_lazy as _

from coordination.pages.texts import Text, Texts
from coordination.pages.texts.problems import PROBLEMS

OUTCOMES: dict[str, Text] = {
    "granted": _("Concedido"),
    "renewed": _("Renovado"),
    "released": _("Devuelto"),
    "expired": _("Caducado"),
    "revoked": _("Revocado"),
    "returned": _("Devuelto sin entregar"),
    "ended": _("Terminado por la autoridad"),
    "deadlock": _("Rechazado, interbloqueo"),
}
"""What a decision did, also the end of a lease."""

KEY: Texts = {
    "key_none": _("Sin clave: la primera vez que lances se crea una en este navegador."),
    "key_creating": _("Creando y registrando tu clave…"),
    "key_label": _("Tu clave"),
    "key_expired": _("caducada"),
    "key_adopted": _("de tu espacio, sin límite de llamadas"),
    "calls_left": _("{left} de {of}"),
    "expires_in": _("caduca en {in}"),
    "ask_beta": _("Pedir acceso a la beta"),
    "forget_confirm": _(
        "¿Olvidar la clave? No se puede recuperar ni exportar: vive solo en este navegador. "
        "Lo que tenga concedido seguirá su plazo hasta caducar."
    ),
    "forget_confirm_adopted": _(
        "¿Olvidar la clave? No se puede recuperar ni exportar: su agente sigue registrado en tu espacio, "
        "pero nadie podrá firmar con él. El espacio sigue siendo tuyo y podrás empezar otra prueba."
    ),
    "unable_insecure": _("Esta página no se sirve por HTTPS y el navegador no da claves."),
    "unable_no_ed25519": PROBLEMS["problem_unable_no_ed25519"],
    "key_in_memory": _("este navegador no la puede guardar: dura lo que esta página"),
    "key_in_library": _("firma una biblioteca, con la clave en memoria: dura lo que esta página"),
    "key_export_stored": _(
        "No se puede: el navegador la guarda sin dejar que nadie lea sus bytes, tampoco esta página."
    ),
    "key_export_memory": _("No se puede: el navegador no deja que nadie lea sus bytes, tampoco esta página."),
    "key_export_library": _(
        "No se puede desde aquí: la clave está en la memoria de la página y se va con ella."
    ),
    "signs_as": _("Firma"),
    "add_agent": _("Añadir otro agente"),
    "agent_name": _("Agente {letter}"),
    "wants_agent": _("Este paso es del agente {letter}: añádelo con «Añadir otro agente» y fírmalo con él."),
    "agent_in_words": _("el agente {letter}"),
}

EDITOR: Texts = {
    "signed_will": _("Lo que se firmará. La hora, el nonce y la firma se ponen al lanzar."),
    "signed_was": _("Lo que se firmó y se envió."),
    "hint_other_actor": _("No es el DID que firma: el servidor no lo aceptará."),
    "json_too_large": _("No se ha enviado: ocupa {size} bytes y el máximo son {most}."),
    "json_wrong": _("No se ha enviado: el JSON tiene un error."),
    "json_where": _("Línea {line}, columna {column}:"),
    "json_not_object": _("Tiene que ser un objeto, entre llaves."),
    "json_after_end": _("sobra texto después del final."),
    "json_cut_short": _("se acaba antes de tiempo."),
    "json_no_value": _("aquí va un valor: texto entre comillas, número, true, false, null, [ o {."),
    "json_single_quotes": _("el texto va entre comillas dobles."),
    "json_too_deep": _("hay demasiados niveles."),
    "json_trailing_comma": _("sobra la coma anterior."),
    "json_no_name": _("aquí va el nombre de un campo, entre comillas dobles."),
    "json_duplicate": _("este campo ya está."),
    "json_no_colon": _("faltan los dos puntos después del nombre."),
    "json_no_comma": _("falta una coma o el cierre."),
    "json_open_string": _("faltan las comillas de cierre."),
    "json_control": _("hay un carácter de control dentro del texto."),
    "json_bad_escape": _("esta secuencia con \\ no existe."),
}

ANSWER: Texts = {
    "compare": _("Comparar con otra"),
    "shared": _("Enlace copiado: lleva la petición, sin tu clave ni tu DID."),
    "shared_in_address": _("El navegador no deja copiar: el enlace está ahora en la barra de direcciones."),
    "opened_shared": _("Petición compartida: se lanzará con tu propia clave."),
    "clock_slow": _(
        "El reloj de tu equipo va {off} atrasado. Se ha firmado con la hora del servidor; ponlo en hora."
    ),
    "clock_fast": _(
        "El reloj de tu equipo va {off} adelantado. Se ha firmado con la hora del servidor; ponlo en hora."
    ),
    "copy": _("Copiar"),
    "copied": _("Copiado"),
    "token": _("testigo {token}"),
    "times": _("Tiempos"),
    "time_sign": _("firmar"),
    "time_network": _("red"),
    "time_server": _("servidor"),
    "time_both": _("red y servidor"),
    "time_verify": _("comprobar"),
    "answer_json": _("Cuerpo de la respuesta, en JSON"),
    "mend": _("Cómo arreglarlo:"),
    "mend_again": _("Lanzar otra vez"),
    "mend_name_signer": _("Poner el DID que firma y lanzar"),
    "mend_new_key": _("Olvidarla, crear otra y lanzar"),
    "out_granted": OUTCOMES["granted"],
    "out_renewed": OUTCOMES["renewed"],
    "out_lease_held": _("Rechazado: está concedido"),
    "out_deadlock": _("Rechazado: sería un interbloqueo"),
    "out_released": OUTCOMES["released"],
    "out_stale_lease": _("Rechazado: esa concesión ya no vale"),
    "out_not_held": _("Rechazado: no lo tiene"),
    "out_picture": _("El cuadro de espera"),
    "out_withdrawn": _("Fuera de la cola"),
    "out_not_queued": _("No estaba en la cola"),
    "say_granted": _("El testigo {token} de {resource} es tuyo hasta las {until}."),
    "say_renewed": _("Sigues con el testigo {token} de {resource}, ahora hasta las {until}."),
    "say_held_queued": _(
        "Lo tiene {holder}. Estás en el puesto {place} de la cola; vuelve a pedirlo en {in}."
    ),
    "say_held_not_queued": _("Lo tiene {holder} y no has entrado en la cola; vuelve a pedirlo en {in}."),
    "say_offered_queued": _(
        "Se le ofrece a {holder}. Estás en el puesto {place} de la cola; vuelve a pedirlo en {in}."
    ),
    "say_offered_not_queued": _(
        "Se le ofrece a {holder} y no has entrado en la cola; vuelve a pedirlo en {in}."
    ),
    "say_deadlock": _(
        "Lo tiene {holder}, que espera {waitingOn}, y eso depende de ti. Si esperaras, nadie avanzaría."
    ),
    "say_released": _("Has devuelto {resource}. Confianza: {score} (+{delta})."),
    "say_stale_lease": _(
        "El leaseId no es el de una concesión en vigor de este agente. No ha cambiado nada."
    ),
    "say_not_held": _("Este agente no tiene el recurso ahora mismo. No ha cambiado nada."),
    "say_picture": _("Titulares: {holders}. En espera: {waits}. Interbloqueos: {deadlocks}."),
    "say_withdrawn": _("El agente ha dejado la cola; su confianza no cambia."),
    "say_not_queued": _("No había nada que retirar y no ha cambiado nada."),
}

RECEIPT: Texts = {
    "receipt": _("Recibo"),
    "receipt_missing": _("Esta vez no se pudo firmar el recibo. La concesión vale igual."),
    "receipt_ok": {
        "one": _("Se cumple la única comprobación, hecha en tu navegador."),
        "other": _("Se cumplen las {n} comprobaciones, hechas en tu navegador."),
    },
    "receipt_bad": {
        "one": _("No se cumple 1 de las {of} comprobaciones."),
        "other": _("No se cumplen {n} de las {of} comprobaciones."),
    },
    "receipt_said_ok": _("Recibo verificado."),
    "receipt_said_bad": _("El recibo no se verifica."),
    "receipt_facts": _("Lo que dice el recibo"),
    "receipt_raw": _("El recibo tal cual (JWS)"),
    "verified": _("Verificado"),
    "not_verified": _("No verificado"),
    "holds": _("se cumple"),
    "fails": _("no se cumple"),
    "unreadable": _("Ya no se puede leer."),
    "change_byte": _("Cambiar un byte"),
    "restore_byte": _("Devolver el byte a su sitio"),
    "download": _("Descargar"),
    "open_in_verify": _("Abrir en Verificar"),
    "print": _("Imprimir"),
    "check_key": _("Clave publicada"),
    "check_key_ok": _("{kid} está en {url} y es la huella de esa clave."),
    "check_key_bad": _("{kid} no está en {url}, o no es la huella de esa clave."),
    "check_signature": _("Firma"),
    "check_signature_ok": _("La firma Ed25519 cubre cada byte del recibo."),
    "check_signature_bad": _("La firma Ed25519 no corresponde a estos bytes."),
    "check_issuer": _("Emisor"),
    "check_issuer_ok": _("Lo emite {found}, el servicio de esta página."),
    "check_issuer_bad": _("Dice que lo emite {found}; esperábamos {expected}."),
    "check_request": _("Petición"),
    "check_request_ok": _("El resumen de la petición es el de los bytes que enviaste."),
    "check_request_bad": _("El resumen es {found}; el de lo que enviaste, {expected}."),
    "check_result": _("Resultado"),
    "check_result_ok": _("El resultado firmado es el mismo que recibiste."),
    "check_result_bad": _("El resultado firmado no es el que recibiste."),
    "fact_outcome": _("Qué"),
    "fact_resource": _("Recurso"),
    "fact_token": _("Testigo"),
    "fact_agent": _("Agente"),
    "fact_auth": _("Identificado por"),
    "fact_issued": _("Cuándo"),
    "fact_request": _("Petición"),
    "fact_issuer": _("Emisor"),
    "fact_workspace": _("Espacio"),
    "auth_signature": _("su propia firma"),
    "auth_agent_key": _("la clave de API del agente"),
    "auth_workspace_key": _("la clave de API del espacio"),
    "auth_scenario": _("nadie: el servidor lo llevaba en una estampida"),
}

VERIFY: Texts = {
    "copy": ANSWER["copy"],
    "copied": ANSWER["copied"],
    "token": ANSWER["token"],
    "given_empty": _("Pega un recibo o abre un fichero que lo tenga."),
    "given_bad_json": _("Empieza como un JSON pero no se puede leer: quizá está cortado."),
    "given_unsigned": _("Esa respuesta no trae recibo: aquella vez no se pudo firmar."),
    "given_no_receipt": _("Ese JSON no tiene ningún recibo: falta receipt o jws."),
    "given_not_one": _(
        "Esto no es un recibo: un recibo son tres trozos de letras y cifras, separados por puntos."
    ),
    "given_cut_parts": _("El recibo está cortado: tiene tres partes separadas por puntos y aquí llegan {n}."),
    "given_cut_end": _("El recibo está cortado: de la firma llegan {n} caracteres de {of}."),
    "given_no_keys": _(
        "No se ha podido llegar al servidor: sin sus claves publicadas no se puede comprobar."
    ),
    "given_insecure": _(
        "Esta página no se sirve por HTTPS y el navegador no le deja comprobar firmas: ábrela por HTTPS, o "
        "usa una biblioteca JOSE con las claves publicadas."
    ),
    "given_other_issuer": _(
        "Dice que lo emite {issuer}, que no es este servicio. Aquí no están sus claves, así que no se puede "
        "dar por bueno ni por falso."
    ),
    "given_elsewhere": _("Verificarlo allí"),
}

BOARD: Texts = {
    "live_off": _("Sin conectar"),
    "live_connecting": _("Conectando…"),
    "live_live": _("En vivo"),
    "live_old": _("Datos de hace {age}"),
    "live_delayed": _("Con retraso"),
    "live_reconnecting": _("Reconectando · datos de hace {age}"),
    "live_paused": _("En pausa"),
    "live_ended": _("Sesión terminada"),
    "live_removed": _("Sin acceso"),
    "live_missing": _("Sin acceso"),
    "board_empty": _("Nadie tiene nada ahora mismo. Pide un recurso y lo verás aquí, con su cuenta atrás."),
    "board_free": _("Libre"),
    "board_offered": _("Libre, ofrecido al primero de la cola"),
    "board_left": _("quedan"),
    "board_claim": _("ofrecido, le quedan"),
    "board_again": _("repite en {in}"),
    "board_log": _("Lo último"),
    "place": _("Puesto {place}"),
    "mode_exclusive": _("exclusivo"),
    "mode_shared": _("compartido"),
    "deadlocks": {"one": _("Un interbloqueo evitado"), "other": _("{n} interbloqueos evitados")},
    "deadlock_asked": _("pidió"),
    "deadlock_waits": _("lo tiene y espera"),
    "deadlock_refused": _("Rechazado a las {at} antes de entrar en la cola."),
    "event_granted": OUTCOMES["granted"],
    "event_renewed": OUTCOMES["renewed"],
    "event_released": OUTCOMES["released"],
    "event_expired": OUTCOMES["expired"],
    "event_queued": _("En cola"),
    "event_withdrawn": _("Se retira de"),
    "event_lapsed": _("Pierde el puesto en"),
    "event_offered": _("Ofrecido"),
    "event_deadlock": _("Interbloqueo evitado en"),
}

ALL: Texts = {**KEY, **EDITOR, **ANSWER, **RECEIPT, **BOARD, **PROBLEMS}
