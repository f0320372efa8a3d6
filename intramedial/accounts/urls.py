"""Addresses of sign-up, log-in and accounts. Only the views of allauth that are used have one.

The secret of a mailed link is in its query, because queries are never logged.
"""

from allauth.account import views as allauth_account
from allauth.mfa.base import views as second_step
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from django.urls import path, re_path
from django.views.decorators.cache import never_cache
from django.views.generic import RedirectView

from intramedial.accounts import access_requests, entrance, views

to_account = RedirectView.as_view(pattern_name="account")

urlpatterns = [
    path("pedir-acceso/", access_requests.ask, name="access_request"),
    path("pedir-acceso/hecho/", access_requests.sent, name="access_request_sent"),
    path("registro/", entrance.SignupView.as_view(), name="account_signup"),
    path(
        "registro/confirmar/",
        allauth_account.EmailVerificationSentView.as_view(),
        name="account_email_verification_sent",
    ),
    path("registro/confirmar/enlace/", views.ConfirmEmailView.as_view(), name="account_confirm_email"),
    path("acceso/", entrance.LoginView.as_view(), name="account_login"),
    path("acceso/codigo/", second_step.authenticate, name="mfa_authenticate"),
    path("acceso/inactiva/", allauth_account.account_inactive, name="account_inactive"),
    path("salir/", allauth_account.logout, name="account_logout"),
    path("cuenta/", views.account, name="account"),
    path("cuenta/correo/", views.email, name="account_email"),
    path(
        "cuenta/contrasena/",
        never_cache(entrance.PasswordChangeView.as_view()),
        name="account_change_password",
    ),
    path("cuenta/contrasena/olvidada/", entrance.PasswordResetView.as_view(), name="account_reset_password"),
    path(
        "cuenta/contrasena/olvidada/enviado/",
        allauth_account.password_reset_done,
        name="account_reset_password_done",
    ),
    path("cuenta/contrasena/olvidada/enlace/", entrance.reset_link, name="account_reset_link"),
    path(
        "cuenta/contrasena/olvidada/hecho/",
        allauth_account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^cuenta/contrasena/olvidada/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[-\w]+)/$",
        entrance.PasswordResetFromKeyView.as_view(),
        name="account_reset_password_from_key",
    ),
    path(
        "cuenta/comprobar/", never_cache(entrance.ReauthenticateView.as_view()), name="account_reauthenticate"
    ),
    path("cuenta/comprobar/codigo/", second_step.reauthenticate, name="mfa_reauthenticate"),
    path("cuenta/sesiones/", views.sessions, name="account_sessions"),
    path("cuenta/borrar/", views.delete, name="account_delete"),
    path("cuenta/dos-pasos/", to_account, name="mfa_index"),
    path("cuenta/dos-pasos/activar/", never_cache(totp.activate_totp), name="mfa_activate_totp"),
    path("cuenta/dos-pasos/quitar/", never_cache(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path("cuenta/dos-pasos/codigos/", recovery_codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path(
        "cuenta/dos-pasos/codigos/nuevos/",
        never_cache(recovery_codes.generate_recovery_codes),
        name="mfa_generate_recovery_codes",
    ),
]
