"""What a workspace keeps: its agents and what moved their trust, its receipts, its usage."""
