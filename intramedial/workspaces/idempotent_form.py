"""A form that is sent twice does one thing: what it makes comes from a token that the form carries.

The token is 256 random bits, signed for one person and purpose. Whatever is made with it (an id, a key, a
link) is derived from it and from the service's secret, so the second sending finds what the first one made,
and can show it again without its secret having been kept.
"""

import hmac
import secrets
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, TimestampSigner
from django.utils.translation import gettext as _

LIFETIME_S = 86_400


def token(purpose: str) -> str:
    """A fresh token for a form."""
    return _signer(purpose).sign(secrets.token_urlsafe(32))


def bits(given: str, purpose: str) -> bytes | None:
    """The 256 bits that a token stands for; None for one that is not ours, for something else, or too old."""
    try:
        value = _signer(purpose).unsign(given, max_age=LIFETIME_S)
    except BadSignature:
        return None
    return hmac.digest(settings.SECRET_KEY.encode(), f"once:{purpose}:{value}".encode(), "sha256")


def _signer(purpose: str) -> TimestampSigner:
    return TimestampSigner(salt=f"intramedial.once:{purpose}")


class OnceForm(forms.Form):
    """A form that does what it does once, however often it is sent. `bits` is there once it is valid."""

    once = forms.CharField(widget=forms.HiddenInput, required=False)
    bits: bytes

    def __init__(self, *args: Any, purpose: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.purpose = purpose
        self.initial["once"] = token(purpose)

    def clean(self) -> dict[str, Any]:
        """ValidationError for a form that is too old; sent again it carries a fresh token."""
        cleaned = super().clean() or self.cleaned_data
        found = bits(self.cleaned_data.get("once", ""), self.purpose)
        if found is None:
            sent: Any = self.data  # a QueryDict
            self.data = fresh = sent.copy()
            fresh[self.add_prefix("once")] = token(self.purpose)
            raise ValidationError(_("El formulario llevaba demasiado tiempo abierto. Envíalo otra vez."))
        self.bits = found
        return cleaned
