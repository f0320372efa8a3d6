"""The forms on the pages of workspaces."""

import unicodedata
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from intramedial.web import amounts
from intramedial.workspaces import names
from intramedial.workspaces.idempotent_form import IdempotentForm
from intramedial.workspaces.models import Membership, Workspace
from intramedial.workspaces.names import TYPED_LIMIT, DidField, KeyDidField, NameField

Role = Membership.Role
ROLES = [
    (Role.VIEWER, _("lector: mira el panel, los agentes y los recibos")),
    (Role.MEMBER, _("miembro: además maneja claves y registra agentes")),
    (Role.OWNER, _("propietario: además maneja personas, ajustes y auditoría")),
]


def sent(request: HttpRequest) -> QueryDict | None:
    """The data of a POST, which may be empty; None for a form that is only shown."""
    return request.POST if request.method == "POST" else None


class WorkspaceForm(IdempotentForm):
    """A new workspace."""

    name = NameField(label=_("Nombre"), help_text=_("Del equipo o del proyecto. Se puede cambiar después."))


class SignerForm(forms.Form):
    """An agent, and a proof signed with its key."""

    did = KeyDidField(label=_("DID del agente"))
    proof = forms.CharField(
        label=_("Prueba"),
        max_length=TYPED_LIMIT,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )

    def clean_proof(self) -> str:
        """The proof, without the line breaks of a terminal."""
        return "".join(self.cleaned_data["proof"].split())


class AdoptForm(IdempotentForm):
    """A trial to adopt, given by the key that began it, and the workspace's new name."""

    name = NameField(label=_("Nombre del espacio"))
    did = KeyDidField(widget=forms.HiddenInput)
    proof = forms.CharField(max_length=TYPED_LIMIT, widget=forms.HiddenInput)


class KeyForm(IdempotentForm):
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
        lifetimes = [(str(count), _("en %s") % amounts.days(count)) for count in self.LIFETIMES]
        days: Any = self.fields["days"]
        days.choices = [(self.NEVER, _("nunca")), *lifetimes]

    def clean(self) -> dict[str, Any]:
        """Check that a key for one agent names it, and a key for all agents names none."""
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


class RotateForm(IdempotentForm):
    """When the replaced key stops working."""

    hours = forms.ChoiceField(label=_("La clave anterior deja de valer"), initial="24")

    OVERLAPS = (1, 24, 72, 168)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        later = [(str(count), amounts.ago(-3600 * count)) for count in self.OVERLAPS]
        hours: Any = self.fields["hours"]
        hours.choices = [("0", _("ahora mismo")), *later]


class InvitationForm(IdempotentForm):
    """An invitation to the workspace."""

    email = forms.EmailField(label=_("Correo electrónico"), max_length=254)
    role = forms.ChoiceField(label=_("Papel"), widget=forms.RadioSelect, choices=ROLES, initial=Role.MEMBER)

    def __init__(self, *args: Any, workspace: Workspace, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace
        self.fields["email"].widget.attrs |= {"autocomplete": "off"}

    def clean_email(self) -> str:
        """The address. ValidationError if a member has it."""
        email: str = self.cleaned_data["email"].lower()
        if not email.isascii():
            raise ValidationError(_("Escribe la dirección solo con letras sin tilde, cifras y signos."))
        if self.workspace.memberships.filter(user__email__iexact=email).exists():
            raise ValidationError(_("Ya está en el espacio."))
        return email


class RoleForm(forms.Form):
    """The role of a member."""

    role = forms.ChoiceField(label=_("Papel"), widget=forms.RadioSelect, choices=ROLES)


class RenameForm(forms.Form):
    """Another name for a workspace."""

    name = NameField(label=_("Nombre"))


class ClassForm(forms.Form):
    """One semantic class; a form with an empty name is left out."""

    name = forms.CharField(label=_("Clase"), max_length=TYPED_LIMIT, required=False, strip=True)
    mode = forms.ChoiceField(
        label=_("Con #read"),
        required=False,
        choices=[("shared", _("deja leer a varios")), ("exclusive", _("deja leer a uno"))],
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["name"].widget
        widget.attrs.pop("maxlength", None)
        widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}

    def clean_name(self) -> str:
        """The class: the part of a resource's name before the colon."""
        name: str = self.cleaned_data["name"]
        if not name:
            return ""
        name = names.normal(name)
        if ":" in name or "#" in name:
            raise ValidationError(_("Sin : ni #: lo que va delante de los dos puntos del recurso."))
        return name

    def clean(self) -> dict[str, Any]:
        """Check that a class has a mode."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("name") and not cleaned.get("mode") and "mode" not in self.errors:
            self.add_error("mode", _("Elige qué deja."))
        return cleaned


class ClassForms(forms.BaseFormSet):
    """The semantic classes of a workspace, with different names."""

    def clean(self) -> None:
        """Check that no name appears twice."""
        seen: set[str] = set()
        for form in self.forms:
            if name := getattr(form, "cleaned_data", {}).get("name"):
                if name in seen:
                    form.add_error("name", _("Ya está puesta más arriba."))
                seen.add(name)

    @property
    def classes(self) -> dict[str, str]:
        """The filled-in classes, {name: mode}, as a workspace stores them."""
        filled = (form.cleaned_data for form in self.forms if form.cleaned_data.get("name"))
        return {given["name"]: given["mode"] for given in filled}


MAX_CLASSES = 100
class_forms = cast(
    type[ClassForms],
    forms.formset_factory(
        ClassForm,
        formset=ClassForms,
        extra=3,
        max_num=MAX_CLASSES,
        absolute_max=MAX_CLASSES,
        validate_max=True,
    ),
)


class HandOverForm(forms.Form):
    """The member who becomes the owner of the workspace."""

    to = forms.ModelChoiceField(
        queryset=Membership.objects.none(), label=_("A quién"), empty_label=_("elige a alguien")
    )

    def __init__(self, *args: Any, membership: Membership, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = membership.workspace.memberships.exclude(pk=membership.pk).select_related("user")
        field: Any = self.fields["to"]
        field.queryset = others.order_by("user__email")
        field.label_from_instance = lambda other: other.user.email


class DeleteForm(forms.Form):
    """The workspace's name, typed, so that nobody deletes the wrong workspace."""

    name = forms.CharField(label=_("Nombre del espacio"), max_length=TYPED_LIMIT)

    def __init__(self, *args: Any, workspace: Workspace, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace
        self.fields["name"].widget.attrs |= {"autocomplete": "off"}

    def clean_name(self) -> str:
        """ValidationError if it is not the workspace's name."""
        name = " ".join(unicodedata.normalize("NFC", self.cleaned_data["name"]).split())
        if name != " ".join(self.workspace.name.split()):
            raise ValidationError(_("No es el nombre de este espacio."))
        return name


def owns_too_many(who: str) -> str:
    """The error when the person to become an owner owns as many workspaces as one may."""
    return gettext(
        "%(who)s ya es propietario de %(max)s espacios, que son los que puede tener una persona."
    ) % {
        "who": who,
        "max": settings.PERSON_WORKSPACES,
    }


def too_many_workspaces() -> str:
    """The error when the person owns as many workspaces as one may."""
    return gettext("Ya eres propietario de %(max)s espacios, que son los que puede tener una persona.") % {
        "max": settings.PERSON_WORKSPACES
    }
