"""Kinds of fields: names and DIDs, with what is wrong with them said in the language of the page."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from intramedial.identity.did import check_did, did_key_public
from intramedial.workspaces import names

TYPED_LIMIT = 2_000
"""More than any field takes, so that a name that is too long is told so, and a flood is not read."""


class NameField(forms.CharField):
    """A name as `names.normal` has it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=TYPED_LIMIT, strip=False, **kwargs)
        # Said in words after sending, instead of cut while typing.
        self.widget.attrs.pop("maxlength", None)

    def clean(self, value: Any) -> str:
        """The name; empty where it may be."""
        text: str = super().clean(value)
        return names.normal(text) if text.strip() or self.required else ""


class DidField(forms.CharField):
    """The DID of an agent."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=TYPED_LIMIT, **kwargs)
        self.widget.attrs.pop("maxlength", None)
        self.widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}

    def clean(self, value: Any) -> str:
        """The DID; empty where it may be."""
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
