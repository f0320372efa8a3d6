"""Pages of the platform."""

urlpatterns: list = []
