"""The REST API of leases, and what REST, MCP and the pages share."""
