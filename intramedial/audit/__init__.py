"""The audit log: who did what, when and from which address. Entries are only added."""
