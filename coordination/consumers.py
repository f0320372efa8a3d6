"""Live sockets."""

websocket_urlpatterns: list = []
