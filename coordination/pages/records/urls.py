"""Addresses of the records of a workspace."""

from django.urls import include, path

from coordination.pages.records import agents, receipts, usage

# Under /espacios/<ws_…>/.
OF_ONE = [
    path("agentes/", agents.agents, name="agents"),
    path("agentes/agente/", agents.agent, name="agent"),
    path("recibos/", receipts.receipts, name="receipts"),
    path("recibos/<str:receipt>/", receipts.receipt, name="receipt"),
    path("recibos/<str:receipt>/recibo.json", receipts.download, name="receipt_json"),
    path("uso/", usage.usage, name="usage"),
]

urlpatterns = [path("espacios/<str:workspace>/", include(OF_ONE))]
