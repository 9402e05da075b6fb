"""Reach: which nodes ten roots lead to, while edges come and go.

One loop over a join; a single edge may change nothing, or thousands of pairs.

Rule: a root reaches itself.
"""

from __future__ import annotations

from typing import Any

import ebbflow as ebb
from benchmarks import measure

ROOTS = 10


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    flow.output(
        "reach",
        start.iterate(
            lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
        ),
    )
    return flow


def from_roots(roots: int = ROOTS) -> dict[str, list[tuple[int, ...]]]:
    return {"roots": [(root,) for root in range(roots)]}


def run(roots: int = ROOTS, **options: Any) -> dict[str, Any]:
    return measure.window(program(), "reach", ("root", "node"), others=from_roots(roots), **options)
