"""HTTP: requests and answers of the JSON API, logs, limits; nothing of accounts, workspaces or leases."""
