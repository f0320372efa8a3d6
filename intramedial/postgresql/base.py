"""Django's PostgreSQL backend, with sessions opened as `sessions.py` does."""

from typing import Any

from django.db.backends.postgresql import base

from intramedial.postgresql import sessions


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of Django's. `pooled` is True if a connection pooler is in between."""

    pooled = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A new session with its settings pinned. Behind a pooler only those are pinned that a pooler
        keeps."""

        def open_session(options: str) -> Any:
            return super(DatabaseWrapper, self).get_new_connection({**conn_params, "options": options})

        session, self.pooled = sessions.opened(open_session, conn_params, sessions.PAGES)
        if self.pooled:
            sessions.set_for_client(session, "datestyle", "timezone", "standard_conforming_strings")
        return session
