"""The ledger: what was decided, one signed receipt an entry, appended and never changed, in its own database.

It is evidence and not authority: no lease waits for it, and it catches up after an outage of its own.
"""
