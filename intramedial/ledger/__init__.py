"""The ledger: what was decided, one signed receipt an entry, appended and never changed, in its own database.

It is evidence and not authority: no lease waits for it, and it catches up after an outage of its own.

What strangers can make it keep is bounded. The receipts of scenarios are not in it. Of a trial it has at most
two entries a call, of one to two kilobytes each (twelve for a deadlock of eight agents with the longest
names); when the trial is purged their contents go, and two hundred bytes of each are left.
"""
