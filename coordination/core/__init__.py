"""The lease authority's rules, pure: no Django, no clock, no I/O.

Theory of operation
===================

A *workspace* is an island: its resources, agents and wait-for graph never touch another's. A `World` holds
the part of one workspace that a decision needs. The caller has the clock and the database. It loads a world,
calls `settle(world, now)` once, then `decide(world, command, now)` for each command in order, and stores what
the world became. The core does not know where a world came from, so the same scripts run on a bare world, on
SQLite and on PostgreSQL.

The one rule
------------
An agent is granted a resource exactly when no other holder conflicts with it and no
other waiter *ahead of it* conflicts with it. Two modes conflict unless both are shared. The waiters ahead of
a queued agent are those in front of its place. For an agent that is not queued they are all waiters. There is
one exception: when a sole holder asks for a stronger mode, and its own lease is what blocks the first other
waiter, no waiter is ahead of it. One function (`waitgraph.blockers`) decides grants, offers and edges, so the
three cannot disagree.

Why the graph has edges to waiters
----------------------------------
A waiter waits for the holders it conflicts with *and* for the conflicting waiters ahead of it. With edges to
holders alone, a later grant of a freed resource could close a cycle that no request was ever refused for. A
request whose edges would close a cycle is refused as a deadlock and is not queued, so the graph is acyclic
after every step.

Time
----
Time is an argument: integer milliseconds since the Unix epoch. What has expired at `now` ends before any
decision, as if each end had happened at its own instant and in time order. So no answer depends on when the
authority looks for what has expired. Ends at one instant are one step, and the offers that they make possible
begin after them, at that same instant.

    free --grant--> held --release, expiry--> on offer --claim--> held
                     ^ renewal                    |
                     +---(no waiter: free)        +--lapse--> the next waiter is offered, or free

Tokens
------
Every grant takes the resource's next fencing token. The counter belongs to the resource, not to the lease,
and never goes back.

Trust
-----
A release raises the score of the holder, an expiry lowers it. The score is an exact decimal
between 0 and 100, and each lease moves it at most once.
"""
