"""The records of a workspace: its agents and the moves of their trust, its receipts, its usage."""
