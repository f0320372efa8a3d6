"""From a request to the principal that made it, by the workspaces' keys and agents."""
