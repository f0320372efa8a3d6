"""Receipts: what was answered, as a compact JWS that any JOSE library verifies with the published keys."""
