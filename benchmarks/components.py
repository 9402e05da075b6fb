"""Components: the parts of a graph that no edge connects, while edges come and go.

An edge that goes may split a part, and then half of it has to be told another name.

Rule: edges are read both ways, and a part is called by the least of its nodes.
"""

from __future__ import annotations

from typing import Any

import ebbflow as ebb
from benchmarks import measure


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.output("components", ebb.algorithms.connected_components(flow.input("edges", "src long, dst long")))
    return flow


def run(**options: Any) -> dict[str, Any]:
    return measure.window(program(), "components", ("id", "component"), **options)
