"""The databases that can hold the leases: SQLite and PostgreSQL."""
