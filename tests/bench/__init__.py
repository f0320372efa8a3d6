"""The benchmarks: programs that print figures, never timed tests.

How a figure comes about
========================

Each server runs alone on one core and the load on another; contestants take turns within a round, and every
figure is the median of the rounds, with the lowest and the highest beside it. The first moments of a run are
not counted. Our server runs as an operator starts it: every answer durable (fsync on) and every receipt
signed, access log on. An answer other than the expected one ends the benchmark: there are no figures for
errors, and a peer that is not installed is a row that says so.

    python -m tests.bench              the table of docs/benchmarks.md: servers side by side
    python -m tests.bench --quick      its main rows, in less than a minute
    python -m tests.bench growth       what becomes of us as tables, chains and logs grow
    python -m tests.bench report       put the last results into docs/benchmarks.md and the README
    python -m tests.bench.admin sqlite the admin's pages over a million leases and ten million receipts
    python -m tests.bench.attacks      a tenant beside strangers who attack; the table of docs/listener.md

`load` is the client, `contestants` the servers, `workloads` what is said to them, `rounds` takes turns,
`growth` fills tables first; `report` and `plot` show what was measured.
"""
