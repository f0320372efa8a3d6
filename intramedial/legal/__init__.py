"""Legal notice, privacy, cookies, how long data are kept, and deleting them after that."""
