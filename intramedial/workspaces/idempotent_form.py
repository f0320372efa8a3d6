"""Idempotent forms: one that is sent twice has its effect once, because it carries a token.

The token is 256 random bits, signed for one person and purpose. The id, API key or link that a form makes is
derived from the token and the service's secret. So the second request finds what the first one made, and can
show a secret again although only its hash is stored.
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
    """A new token for a form."""
    return _signer(purpose).sign(secrets.token_urlsafe(32))


def bits(given: str, purpose: str) -> bytes | None:
    """The 256 bits derived from a token; None if the token is forged, for another purpose, or too old."""
    try:
        value = _signer(purpose).unsign(given, max_age=LIFETIME_S)
    except BadSignature:
        return None
    return hmac.digest(settings.SECRET_KEY.encode(), f"once:{purpose}:{value}".encode(), "sha256")


def _signer(purpose: str) -> TimestampSigner:
    return TimestampSigner(salt=f"intramedial.once:{purpose}")


class IdempotentForm(forms.Form):
    """A form that has its effect once, however often it is sent. `bits` of a valid form are its token's."""

    once = forms.CharField(widget=forms.HiddenInput, required=False)
    bits: bytes

    def __init__(self, *args: Any, purpose: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.purpose = purpose
        self.initial["once"] = token(purpose)

    def clean(self) -> dict[str, Any]:
        """ValidationError if the form is too old; the page then shows it with a new token."""
        cleaned = super().clean() or self.cleaned_data
        found = bits(self.cleaned_data.get("once", ""), self.purpose)
        if found is None:
            sent: Any = self.data  # a QueryDict
            self.data = fresh = sent.copy()
            fresh[self.add_prefix("once")] = token(self.purpose)
            raise ValidationError(_("El formulario llevaba demasiado tiempo abierto. Envíalo otra vez."))
        self.bits = found
        return cleaned
