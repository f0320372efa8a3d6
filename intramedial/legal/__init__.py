"""Legal notice, privacy, cookies, and how long what is kept."""
