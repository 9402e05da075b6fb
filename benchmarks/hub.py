"""Hub: one key with many values, one of which comes and another goes at every time.

In most graphs a few nodes have very many edges.  `join` looks up the node in an index of edges, `semijoin` asks whether
it is there, `distinct` looks it up in a reduction that a join reads; `min`, `top` and `median` ask for the least of its
values, the three largest, and the one in the middle.

Rule: single changes at places in no order, each with its answer read; fewer of them than there are values.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

import ebbflow as ebb
import ebbflow.functions as F
from benchmarks import measure
from benchmarks.generator import Checks

KINDS = ("join", "semijoin", "distinct", "min", "top", "median")
TURNS = 10
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


class Hub:
    """A session with one key; a time takes an even value away and brings an odd one."""

    def __init__(self, kind: str, values: int, workers: int = 1):
        self.kind, self.values, self.time = kind, values, 1
        self.clock, self.checks = measure.Clock(), Checks()
        self.live = program(kind).run(workers=workers)
        began = measure.CLOCK()
        self.live.apply("edges", {"src": np.zeros(values, np.int64), "dst": 2 * np.arange(values)}, time=0)
        self.live.insert("asked", [(0, 7)], time=0)
        self.live.advance_to(1)
        answer = self.live.changes("hub").to_arrow()
        self.load_s = measure.CLOCK() - began
        a, b, times, diffs = (column.to_numpy() for column in answer.columns)
        self._add(a, b, times, diffs)

    def go_on(self, count: int) -> None:
        """So many times more, each in a step of its own."""
        live, values, now, read = self.live, self.values, measure.CLOCK, []
        for t in range(self.time, self.time + count):
            gone, come = 2 * (t * STRIDE % values), 2 * (t * STRIDE * 3 % values) + 1
            began = now()
            live.delete("edges", [(0, gone)], time=t)
            live.insert("edges", [(0, come)], time=t)
            fed = now()
            live.advance_to(t + 1)
            worked = now()
            rows = live.changes("hub").rows()
            self.clock.step(began, fed, worked, now())
            read += rows
        self.time += count
        if read:
            self._add(*np.array(read).T)

    def _add(self, a: Any, b: Any, times: Any, diffs: Any) -> None:
        """A median may lie half way between two values: the sums are of twice the median."""
        self.checks.add(a, 2 * b if self.kind == "median" else b, times.astype(np.int64), diffs.astype(np.int64))


def run(kind: str, values: int, times: int, workers: int = 1, beside: int = 0) -> dict[str, Any]:
    """Edges from one node to `values` others; at each time one goes, and another comes.

    `beside`: so many values in a second session, which takes turns with the first; `growth` is what a change costs in
    the one by what it costs in the other, the median over the turns.
    """
    measure.get_ready()
    hub = Hub(kind, values, workers)
    counted = measure.Counted(hub.live)
    found: dict[str, Any] = {}
    if beside:
        few = Hub(kind, beside, workers)
        found["growth"] = median(_turn(hub, times // TURNS) / _turn(few, times // TURNS) for _ in range(TURNS))
    else:
        hub.go_on(times)
    return {
        **hub.clock.told(times),
        **found,
        "load_s": hub.load_s,
        "peak_mb": measure.peak_mb(),
        "checks": hub.checks.told(),
        "counts": {"times": counted.now()},
    }


def _turn(hub: Hub, count: int) -> float:
    """The median step of one turn."""
    hub.go_on(count)
    return median(hub.clock.steps[-count:])
