"""What the authority remembers: worlds in memory, rows in a database."""
