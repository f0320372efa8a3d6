"""The addresses of the pages of workspaces."""

from django.urls import URLPattern, include, path

from intramedial.workspaces.pages import adopt, api_keys, audit, home, members, settings_page, signers

# Below /espacios/<ws_…>/.
OF_ONE: list[URLPattern] = [
    path("", home.workspace, name="workspace"),
    path("claves/", api_keys.api_keys, name="keys"),
    path("claves/<str:prefix>/rotar/", api_keys.rotate, name="key_rotate"),
    path("claves/<str:prefix>/revocar/", api_keys.revoke, name="key_revoke"),
    path("firmas/", signers.signers, name="signers"),
    path("firmas/<int:agent>/revocar/", signers.revoke, name="signer_revoke"),
    path("miembros/", members.members, name="members"),
    path("miembros/<int:person>/", members.member, name="member"),
    path("invitaciones/<int:invitation>/revocar/", members.invitation, name="invitation"),
    path("auditoria/", audit.audit, name="audit"),
    path("auditoria/auditoria.<str:form>", audit.download, name="audit_download"),
    path("ajustes/", settings_page.settings_page, name="workspace_settings"),
    path("ajustes/traspaso/", settings_page.hand_over, name="workspace_hand_over"),
    path("ajustes/borrar/", settings_page.delete, name="workspace_delete"),
]

urlpatterns = [
    path("espacios/", home.workspaces, name="workspaces"),
    path("espacios/prueba/", adopt.adopt, name="adopt"),
    path("espacios/invitacion/", members.accept, name="accept_invitation"),
    path("espacios/<str:workspace>/", include(OF_ONE)),
]
