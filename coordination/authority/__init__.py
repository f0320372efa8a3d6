"""The authority: one thread that decides commands in batches, and what works for it."""
