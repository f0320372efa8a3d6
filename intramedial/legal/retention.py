"""The tables of the legal pages: which data are kept, and for how long. The figures are those that the code
uses."""

from typing import NamedTuple

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from intramedial.accounts import deletion

# The figure of `coordination`, which the platform must not import. A test compares the two.
HISTORY_DAYS = 90
DAY_S = 86_400


class Row(NamedTuple):
    """One row of the retention page."""

    what: str
    which: str
    how_long: str


class Cookie(NamedTuple):
    """One row of the page about cookies."""

    name: str
    what: str
    how_long: str


def days(count: int) -> str:
    """A number of days in words, as in «14 días»."""
    return ngettext("%(count)s día", "%(count)s días", count) % {"count": count}


def figures() -> dict[str, str]:
    """The times that the texts of the legal pages contain."""
    return {
        "audit": days(settings.AUDIT_DAYS),
        "access": days(settings.ACCESS_REQUEST_DAYS),
        "session": days(settings.SESSION_DAYS),
        "trial": days(settings.TRIAL_DAYS),
    }


def rows() -> list[Row]:
    """The rows of the retention page."""
    return [*_of_accounts(), *_of_workspaces()]


def _of_accounts() -> list[Row]:
    return [
        Row(
            _("Tu cuenta"),
            _("correo, nombre si lo pones, un resumen de la contraseña que no permite recuperarla"),
            _("hasta que la borras"),
        ),
        Row(
            _("Una cuenta sin confirmar"),
            _("lo mismo, si nadie sigue el enlace que mandamos a su correo"),
            days(deletion.UNCONFIRMED_DAYS),
        ),
        Row(
            _("Verificación en dos pasos"),
            _("el secreto de tu aplicación y los códigos de recuperación, cifrados"),
            _("hasta que la quitas"),
        ),
        Row(
            _("Sesiones"),
            _("desde qué dirección y con qué navegador entraste, y cuándo se usó por última vez"),
            _("%(days)s desde su último uso, o hasta que sales") % {"days": days(settings.SESSION_DAYS)},
        ),
        Row(
            _("Usos de la beta"),
            _("con qué contraseña de la beta entraste, y cuándo"),
            _("hasta que borras la cuenta, y como mucho %(days)s") % {"days": days(settings.AUDIT_DAYS)},
        ),
        Row(
            _("Intentos de entrar"),
            _("resúmenes con clave de la dirección y del correo, que no permiten recuperarlos"),
            _("1 hora"),
        ),
        Row(
            _("Peticiones de acceso a la beta"),
            _("correo, nombre si lo pones, lo que escribes"),
            days(settings.ACCESS_REQUEST_DAYS),
        ),
        Row(
            _("Auditoría"),
            _(
                "qué se hizo, cuándo, desde qué dirección y con qué número de cuenta; "
                "nunca contraseñas ni claves"
            ),
            _("%(days)s; si borras la cuenta queda el número, que ya no nombra a nadie")
            % {"days": days(settings.AUDIT_DAYS)},
        ),
    ]


def _of_workspaces() -> list[Row]:
    return [
        Row(
            _("Espacios de trabajo"),
            _("nombre, miembros, agentes; de las claves de API, el principio y un resumen"),
            _("hasta que se borra el espacio"),
        ),
        Row(
            _("Invitaciones"),
            _("el correo de la persona invitada"),
            _("%(days)s, o hasta que se acepta o se revoca") % {"days": days(settings.INVITATION_DAYS)},
        ),
        Row(
            _("Concesiones y colas"),
            _("qué agente tiene o espera qué recurso"),
            _("mientras duran; lo ocurrido, %(days)s") % {"days": days(HISTORY_DAYS)},
        ),
        Row(
            _("Recursos"),
            _("su nombre y su último testigo"),
            _("%(days)s desde su último uso") % {"days": days(settings.RESOURCE_DAYS)},
        ),
        Row(
            _("Recibos"),
            _("cada respuesta de pedir y devolver, firmada; nombran agentes y recursos, nunca personas"),
            _("sin plazo: son la prueba de lo que se decidió. De una prueba sin cuenta, hasta que termina"),
        ),
        Row(
            _("Pruebas sin cuenta"),
            _("la clave pública que hizo tu navegador y lo que pidió; un resumen con clave de la dirección"),
            _("%(days)s; queda la clave, apuntada como caducada, y de cada recibo el número y una huella")
            % {"days": days(settings.TRIAL_DAYS)},
        ),
    ]


def cookies() -> list[Cookie]:
    """All cookies that pages set."""
    return [
        Cookie(
            settings.SESSION_COOKIE_NAME,
            _("Recuerda que has entrado. Solo se pone al entrar o al registrarte."),
            _("%(days)s desde su último uso, o hasta que sales") % {"days": days(settings.SESSION_DAYS)},
        ),
        Cookie(
            settings.CSRF_COOKIE_NAME,
            _("Demuestra que un formulario lo has enviado tú. Solo se pone en páginas con formularios."),
            days(settings.CSRF_COOKIE_AGE // DAY_S),
        ),
        Cookie(
            CookieStorage.cookie_name,
            _("Lleva un aviso de una página a la siguiente, como «Guardado»."),
            _("hasta que se muestra"),
        ),
    ]
