"""Hub: one key with many values, one of which comes and another goes at every time.

In most graphs a few nodes have very many edges.  `join` looks up the node in an index of edges, `distinct` in a
reduction that a join reads, `min` asks for the least of its values.

Rule: single changes, each with its answer read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ebbflow as ebb
from benchmarks import measure

KINDS = ("join", "distinct", "min")


def program(kind: str) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, asked = flow.input("edges", "src long, dst long"), flow.input("asked", "src long, by long")
    if kind == "min":
        flow.output("hub", edges.group_by("src").agg(least=ebb.min("dst")))
        return flow
    known = edges.distinct() if kind == "distinct" else edges
    flow.output("hub", known.join(asked, on="src").select("by", "dst"))
    return flow


def run(kind: str, values: int, times: int, workers: int = 1) -> dict[str, Any]:
    """Edges from one node to `values` others; edge t - 1 goes at time t, and a new one comes."""
    measure.get_ready()
    clock, updates, now = measure.Clock(), 0, measure.CLOCK
    with program(kind).run(workers=workers) as live:
        live.apply("edges", {"src": np.zeros(values, np.int64), "dst": np.arange(values)}, time=0)
        live.insert("asked", [(1, 1)] if kind == "min" else [(0, 7)], time=0)
        live.advance_to(1)
        live.changes("hub").to_arrow()
        for t in range(1, times + 1):
            began = now()
            live.delete("edges", [(0, t - 1)], time=t)
            live.insert("edges", [(0, values + t - 1)], time=t)
            fed = now()
            live.advance_to(t + 1)
            worked = now()
            updates += len(live.changes("hub").rows())
            clock.step(began, fed, worked, now())
    return {**clock.told(times), "updates": updates}
