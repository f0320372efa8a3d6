"""What is filled in on the pages of workspaces."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from intramedial import amounts
from intramedial.identity.did import check_did
from intramedial.workspaces import names
from intramedial.workspaces.once import OnceForm

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


class WorkspaceForm(OnceForm):
    """A new workspace."""

    name = NameField(label=_("Nombre"), help_text=_("Del equipo o del proyecto. Se puede cambiar después."))


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
                _("No es un DID que sirva: escribe did:<método>:<id>, como did:key:z6Mk…")
            ) from None


class KeyForm(OnceForm):
    """A new API key."""

    WHOLE, ONE = "workspace", "agent"
    FULL, READ = "full", "read"
    NEVER = "0"

    label = NameField(
        label=_("Para qué"),
        required=False,
        help_text=_("Para reconocerla: el programa o la máquina que la usa."),
    )
    scope = forms.ChoiceField(
        label=_("Por quién habla"),
        widget=forms.RadioSelect,
        initial=WHOLE,
        choices=[(WHOLE, _("por cualquier agente del espacio")), (ONE, _("solo por un agente"))],
    )
    actor_did = DidField(label=_("DID del agente"), required=False, help_text=_("Si es solo por uno."))
    access = forms.ChoiceField(
        label=_("Qué puede"),
        widget=forms.RadioSelect,
        initial=FULL,
        choices=[(FULL, _("pedir, soltar y mirar")), (READ, _("solo mirar"))],
    )
    days = forms.ChoiceField(label=_("Caduca"), initial=NEVER)

    LIFETIMES = (1, 7, 30, 90, 365)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lifetimes = [(str(days), _("en %s") % amounts.days(days)) for days in self.LIFETIMES]
        self.fields["days"].choices = [(self.NEVER, _("nunca")), *lifetimes]

    def clean(self) -> dict[str, Any]:
        """A key for one agent names it; one for all does not."""
        cleaned = super().clean()
        if "actor_did" in cleaned and "scope" in cleaned:
            if cleaned["scope"] == self.ONE and not cleaned["actor_did"]:
                self.add_error("actor_did", _("Di por qué agente habla."))
            elif cleaned["scope"] == self.WHOLE and cleaned["actor_did"]:
                self.add_error(
                    "actor_did",
                    _("La clave habla por cualquiera: quita el DID o elige «solo por un agente»."),
                )
        return cleaned


class RotateForm(OnceForm):
    """When the key that is replaced ends."""

    hours = forms.ChoiceField(label=_("La clave anterior deja de valer"), initial="24")

    OVERLAPS = (1, 24, 72, 168)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        later = [(str(hours), amounts.ago(-3600 * hours)) for hours in self.OVERLAPS]
        self.fields["hours"].choices = [("0", _("ahora mismo")), *later]
