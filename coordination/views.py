"""Pages of coordination.lease."""

urlpatterns: list = []
