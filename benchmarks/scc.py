"""Scc: the edges inside strongly connected components, while edges come and go.

Loops inside a loop, so that a time has three coordinates: where most of the difficulty of differential dataflow is.

Rule: an edge that was given twice is there twice.
"""

from __future__ import annotations

from typing import Any

import ebbflow as ebb
from benchmarks import measure


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.output("scc", ebb.algorithms.strongly_connected_edges(flow.input("edges", "src long, dst long")))
    return flow


def run(**options: Any) -> dict[str, Any]:
    return measure.window(program(), "scc", ("src", "dst"), **options)
