"""Tactics of a plan: what is known of each reduction before it runs, asked of the table of tactics.

Workers write the answer to their nodes, `explain` prints it.

Rule: nothing here decides; the conditions stand in `operators/reduce/choose`.
"""

from __future__ import annotations

from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of
from ebbflow.dataflow.plan import Cell, Plan
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.choose import TOTALS, Reduction, chosen


def reduction_of(plan: Plan, cell: Cell) -> Reduction:
    node = plan.graph.nodes[cell.node]
    assert isinstance(node, n.Reduce)
    values = Schema(tuple(Field(name, plan.graph.schemas[node.source][name]) for name in cell.values))
    aggregates = node.reducer.aggregates if isinstance(node.reducer, n.Aggregates) else ()
    return Reduction(
        cell.op,
        cell.depth,
        plan.general,
        cell.readers > 0,
        values.width,
        frozenset(kind_of(a.op).opcode for a in aggregates),
        any(
            join.left is not None and join.right is not None and join.left.cell is cell and join.right.cell is cell
            for join in plan.cells
            if join.kind == kinds.JOIN
        ),
        plan.replays_only,
        values.is_wide,
    )


def keeps_totals(plan: Plan, cell: Cell) -> bool:
    """Whether sums are all that a reduction keeps."""
    return cell.kind == kinds.REDUCE and chosen(reduction_of(plan, cell))[0] == TOTALS
