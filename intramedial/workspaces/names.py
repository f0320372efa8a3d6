"""Names that people give, and form fields for names and DIDs.

A name must be visible, and must not look like another name.
"""

import re
import unicodedata
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from intramedial.identity.did import check_did, did_key_public

MAX_NAME = 80
TYPED_LIMIT = 2_000
"""Most characters that a field reads: more than any allows, so that the error names the real limit."""
# Alphabets whose letters look like one another's (Unicode TS 39): a word may use only one of them.
LOOK_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"}
# Invisible characters (Default_Ignorable_Code_Point), which include the controls of direction, and the blank
# pattern of Braille.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Categories of controls, surrogates, private and unassigned code points, and separators of lines and
# paragraphs.
_REFUSED = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
# From here on there are styled forms of plain letters and digits: 𝐀, Ａ, ①, ⓐ, ⒜.
_STYLED_FROM = "\u2000"
MAX_MARKS = 2


def normal(text: str) -> str:
    """A name as it is stored: in NFC, with single plain spaces, none at its ends.

    ValidationError, with a text for people, if it is empty, too long, or can be mistaken for another name.
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
    if any(char >= _STYLED_FROM and _is_styled(char) for char in text):
        raise ValidationError(_("Lleva letras o cifras que parecen otras: escríbelas con el teclado normal."))
    if re.search(rf"[\u0300-\u036f]{{{MAX_MARKS + 1}}}", unicodedata.normalize("NFD", text)):
        raise ValidationError(_("Lleva demasiados signos sobre una misma letra."))


def _is_styled(char: str) -> bool:
    plain = unicodedata.normalize("NFKC", char)
    one = plain.strip("()")
    return plain.isascii() and (char.isalnum() or (char != one and len(one) == 1 and one.isalnum()))


class NameField(forms.CharField):
    """A name by the rules of `normal`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=TYPED_LIMIT, strip=False, **kwargs)
        # The browser must not cut the name while it is typed: the error explains the limit.
        self.widget.attrs.pop("maxlength", None)

    def clean(self, value: Any) -> str:
        """The name, which is empty only in an optional field."""
        text: str = super().clean(value)
        return normal(text) if text.strip() or self.required else ""


class DidField(forms.CharField):
    """The DID of an agent."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=TYPED_LIMIT, **kwargs)
        self.widget.attrs.pop("maxlength", None)
        self.widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}

    def clean(self, value: Any) -> str:
        """The DID, which is empty only in an optional field."""
        did: str = super().clean(value)
        try:
            return check_did(did) if did else ""
        except ValueError:
            raise ValidationError(
                _("No es un DID que sirva: escribe did:método:id, como did:key:z6Mk…")
            ) from None


class KeyDidField(DidField):
    """The DID of an agent that can sign: a did:key of Ed25519."""

    def clean(self, value: Any) -> str:
        """The DID."""
        did = super().clean(value)
        try:
            did_key_public(did)
        except ValueError:
            raise ValidationError(_("Para firmar hace falta una clave Ed25519: did:key:z6Mk…")) from None
        return did
