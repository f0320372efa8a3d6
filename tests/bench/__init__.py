"""The benchmarks: programs that print figures. No test is timed.

How a figure is measured
========================

Each server runs alone on one core and the load on another. Contestants take turns within a round, and every
figure is the median of the rounds, with the lowest and the highest beside it. The first moments of a run do
not count. Our server runs as an operator starts it: every answer durable (fsync on), every receipt signed,
access log on. An unexpected answer ends the benchmark: there are no figures for errors. A product that is not
installed is a row that says so.

    python -m tests.bench              the table of docs/benchmarks.md: servers side by side
    python -m tests.bench --quick      its main rows, in less than a minute
    python -m tests.bench growth       how speed changes as tables, chains and logs grow
    python -m tests.bench report       put the last results into docs/benchmarks.md and the README
    python -m tests.bench.admin sqlite the admin's pages over a million leases and ten million receipts
    python -m tests.bench.attacks      a tenant while others attack; the table of docs/listener.md

`load` is the client, `contestants` are the servers, `workloads` the requests; `rounds` takes turns, `growth`
fills tables first, `report` and `plot` show the results.
"""
