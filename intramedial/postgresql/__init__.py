"""What this service relies on in a PostgreSQL session, directly or behind a connection pooler.

`base.py` is the Django backend (`ENGINE` names this package), `sessions.py` opens sessions, `fitness.py`
finds out why a database cannot be used. See docs/postgresql.md.
"""
