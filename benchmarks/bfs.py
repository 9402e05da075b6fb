"""Bfs: how many edges each node is away from node 0, while edges come and go.

One loop over a join and a minimum: an edge that goes may send distances up before they settle.

Rule: node 0 is at distance 0; what cannot be reached has no distance.
"""

from __future__ import annotations

from typing import Any

import ebbflow as ebb
from benchmarks import measure


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    flow.output("bfs", ebb.algorithms.bfs_layers(edges, roots.select(id="root")))
    return flow


def run(**options: Any) -> dict[str, Any]:
    return measure.window(program(), "bfs", ("id", "layer"), others={"roots": [(0,)]}, **options)
