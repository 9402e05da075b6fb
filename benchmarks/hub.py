"""Hub: one key with many values, one of which comes and another goes at every time.

In most graphs a few nodes have very many edges.  `join` looks up the node in an index of edges, `semijoin` asks whether
it is there, `distinct` looks it up in a reduction that a join reads; `min`, `top` and `median` ask for the least of its
values, the three largest, and the one in the middle.

Rule: single changes at places in no order, each with its answer read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ebbflow as ebb
import ebbflow.functions as F
from benchmarks import measure

KINDS = ("join", "semijoin", "distinct", "min", "top", "median")
STRIDE = 7919  # a prime: from one change to the next, so far among the values


def program(kind: str) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, asked = flow.input("edges", "src long, dst long"), flow.input("asked", "src long, by long")
    by_node = edges.group_by("src")
    match kind:
        case "min":
            hub = by_node.agg(least=ebb.min("dst"))
        case "top":
            hub = by_node.top(3, "-dst")
        case "median":
            hub = by_node.agg(middle=F.median("dst"))
        case "semijoin":
            hub = edges.semijoin(asked, on="src")
        case _:
            known = edges.distinct() if kind == "distinct" else edges
            hub = known.join(asked, on="src").select("by", "dst")
    flow.output("hub", hub)
    return flow


def run(kind: str, values: int, times: int, workers: int = 1) -> dict[str, Any]:
    """Edges from one node to `values` others, of even numbers; at each time one goes, and one of odd number comes."""
    measure.get_ready()
    clock, updates, now = measure.Clock(), 0, measure.CLOCK
    with program(kind).run(workers=workers) as live:
        live.apply("edges", {"src": np.zeros(values, np.int64), "dst": 2 * np.arange(values)}, time=0)
        live.insert("asked", [(0, 7)], time=0)
        live.advance_to(1)
        live.changes("hub").to_arrow()
        for t in range(1, times + 1):
            gone, come = 2 * (t * STRIDE % values), 2 * (t * STRIDE * 3 % values) + 1
            began = now()
            live.delete("edges", [(0, gone)], time=t)
            live.insert("edges", [(0, come)], time=t)
            fed = now()
            live.advance_to(t + 1)
            worked = now()
            updates += len(live.changes("hub").rows())
            clock.step(began, fed, worked, now())
    return {**clock.told(times), "updates": updates}
