"""Degrees: how many nodes have how many edges, while edges come and go.

Two counts, one on the other, without a loop: what bookkeeping costs when there is next to nothing to compute.

Rule: with `general`, times have a second coordinate that stands still, so that no short cut for ordered times applies.
"""

from __future__ import annotations

from typing import Any

import ebbflow as ebb
from benchmarks import measure


def program(general: bool = False) -> ebb.Dataflow:
    flow = ebb.Dataflow(time=("time", "still")) if general else ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    degrees = edges.group_by("src").agg(degree=ebb.count())
    flow.output("degrees", degrees.group_by("degree").agg(nodes=ebb.count()))
    return flow


def run(general: bool = False, **options: Any) -> dict[str, Any]:
    return measure.window(program(general), "degrees", ("degree", "nodes"), two_coordinates=general, **options)
