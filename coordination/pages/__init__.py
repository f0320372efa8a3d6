"""The pages of coordination.lease."""
