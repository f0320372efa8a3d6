"""The platform below the modules: settings, HTTP, accounts, workspaces, receipts, the ledger."""

__version__ = "0.1.0"
"""The version of the whole service. `pyproject.toml`, the API's description and MCP take it from here."""
