"""Finding the principal that made a request, by the API keys and agents of workspaces."""
