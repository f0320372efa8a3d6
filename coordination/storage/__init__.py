"""The store of the authority: worlds in memory, rows in a database."""
