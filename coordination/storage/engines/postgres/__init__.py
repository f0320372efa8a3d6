"""The engine for several server processes: PostgreSQL."""
