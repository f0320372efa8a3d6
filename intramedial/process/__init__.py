"""The server process: supervision, health, private files."""
