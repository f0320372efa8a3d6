"""The lease authority's rules, pure: no Django, no clock, no I/O.

Theory of operation
===================

A *workspace* is an island: its resources, agents and wait-for graph never touch another's. A `World` holds
the part of one workspace that a decision needs. Whoever owns the clock and the database loads a world, calls
`settle(world, now)` once, then `decide(world, command, now)` for each command in order, and writes down what
the world became. Nothing here knows where a world came from, so the same scripts run on a bare world, on
SQLite and on PostgreSQL.

The one rule
------------
An agent is granted a resource exactly when no other holder conflicts with it and no other waiter *ahead of
it* conflicts with it. Two modes conflict unless both are shared. Ahead of an agent is every waiter in front
of its own place in the queue; of an agent that is not queued, every waiter. One exception: a sole holder that
asks for more, and whose own lease is what holds back the first other waiter, has nobody ahead of it. The same
function (`waitgraph.blockers`) decides grants, offers and edges, so the three cannot disagree.

Why the graph has edges to waiters
----------------------------------
A waiter waits for the holders it conflicts with *and* for the conflicting waiters ahead of it. With edges to
holders alone, a later grant of a freed resource could close a cycle that no request was ever refused for. A
request whose edges would close a cycle is refused as a deadlock and is not queued, so the graph is acyclic
after every step.

Time
----
Time is an argument: integer milliseconds since the Unix epoch. Whatever has run out at `now` is gone before
anything is judged, as if each end had happened at its own instant and in time order; an alarm that runs, or
does not, changes no answer. Ends at one instant are one step, and the offers that they make possible begin
after them, at that same instant.

    free --grant--> held --release, expiry--> on offer --claim--> held
                     ^ renewal                    |
                     +---(nobody waits: free)     +--lapse--> the next waiter is offered, or free

Tokens
------
Every grant takes the resource's next fencing token. The counter belongs to the resource, not to the lease,
and never goes back.

Trust
-----
Releasing earns, letting a lease run out costs, the score stays in 0 … 100. It moves in exact decimals, once a
lease at most.
"""
