"""The ledger: all decisions, one signed receipt an entry, appended and never changed, in a database of its
own.

It is evidence and not authority. No lease waits for it, and it catches up after an outage.

A client without an account can make it grow only within bounds. It has no receipts of scenarios. A trial has
at most two entries a call, of one to two kilobytes each (twelve for a deadlock of the most agents with the
longest names). When the trial is purged, their contents are dropped and two hundred bytes of each are left.
"""
