"""Node work: what was done so far at a node of the plan, as workers count it in their own words.

How often the walk came to it, and which tactics reduced its keys. What was taken back stays counted, and so does what
an earlier session did whose checkpoint this one goes on from.

Rule: what is counted is counted in any case, and looking changes nothing; the work of several workers is its sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ebbflow.dataflow.plan import Cell, Plan
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.choose import TACTICS


@dataclass(frozen=True)
class NodeWork:
    visits: int = 0  # how often the walk found something pending there
    keys: Counter[str] = field(default_factory=Counter)  # of a reduction: how many each tactic reduced

    def __add__(self, other: NodeWork) -> NodeWork:
        return NodeWork(self.visits + other.visits, self.keys + other.keys)


def work_of(plan: Plan, at: list[kinds.Node]) -> dict[int, NodeWork]:
    """What one worker did at the nodes that the walk comes to, by node of the plan."""
    walked = [cell for cell in plan.program if isinstance(cell, Cell) and cell.follows is None]
    return added((cell.shown_at, _at_cell(cell, at[cell.number])) for cell in walked)


def _at_cell(cell: Cell, a: kinds.Node) -> NodeWork:
    tactics = enumerate(TACTICS) if cell.kind == kinds.REDUCE else ()
    return NodeWork(int(a.visits), Counter({t.short_name: int(a.choice.counts[i]) for i, t in tactics}))


def added(found: Iterable[tuple[int, NodeWork]]) -> dict[int, NodeWork]:
    """The work at each node."""
    whole: dict[int, NodeWork] = {}
    for node, work in found:
        whole[node] = whole.get(node, NodeWork()) + work
    return whole
