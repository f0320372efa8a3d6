"""What is filled in on the pages of workspaces."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

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
