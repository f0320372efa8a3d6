"""What people may call things: names that show, and that do not pass for other names."""

import re
import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MAX_NAME = 80
# Alphabets whose letters look like one another's (Unicode TS 39): a word is written in one of them.
LOOK_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"}
# Characters that show as nothing, the controls of direction among them (Default_Ignorable_Code_Point), and
# the blank pattern of Braille.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Controls, surrogates, private and unassigned code points; separators of lines and paragraphs.
_REFUSED = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
# Beyond Latin-1, letters and digits in another dress: 𝐀, Ａ, ①, ⓐ, ⒜.
_DRESSED_FROM = "\u2000"
MAX_MARKS = 2


def normal(text: str) -> str:
    """A name as it is kept: NFC, single plain spaces, none at its ends. ValidationError, with words, for one
    that is empty, too long, or shows as something else than it is.
    """
    text = unicodedata.normalize("NFC", text)
    if any(unicodedata.category(char) in _REFUSED for char in text):
        raise ValidationError(_("No puede llevar caracteres de control ni saltos de línea."))
    if _UNSEEN.search(text):
        raise ValidationError(_("No puede llevar caracteres invisibles ni que cambien la dirección."))
    text = " ".join(text.split())
    if not text:
        raise ValidationError(_("Escribe un nombre."))
    if len(text) > MAX_NAME:
        raise ValidationError(
            _("Tiene %(count)s caracteres; el máximo son %(max)s.") % {"count": len(text), "max": MAX_NAME}
        )
    _check_looks(text)
    return text


def _check_looks(text: str) -> None:
    for word in text.split(" "):
        scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word if char.isalpha()}
        if len(scripts & LOOK_ALIKE) > 1:
            raise ValidationError(
                _("«%(word)s» mezcla letras de alfabetos que se confunden entre sí.") % {"word": word}
            )
    if any(char >= _DRESSED_FROM and _dressed(char) for char in text):
        raise ValidationError(_("Lleva letras o cifras que parecen otras: escríbelas con el teclado normal."))
    if re.search(rf"[\u0300-\u036f]{{{MAX_MARKS + 1}}}", unicodedata.normalize("NFD", text)):
        raise ValidationError(_("Lleva demasiados signos sobre una misma letra."))


def _dressed(char: str) -> bool:
    plain = unicodedata.normalize("NFKC", char)
    one = plain.strip("()")
    return plain.isascii() and (char.isalnum() or (char != one and len(one) == 1 and one.isalnum()))
