"""Nodes whose columns are numbered, `c0`, `c1`, ...: what relations are built of.

Rule: a relation without columns still has rows, and its node carries a constant for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ebbflow.columns.schema import BOOLEAN, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import users_place
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.frontend.building.shaping import project

ROWS_ALONE = Literal(True, BOOLEAN)


def add(graph: Graph, node: n.Node) -> int:
    return graph.add(node, users_place())


def projected(graph: Graph, node: int, columns: Sequence[Expr]) -> int:
    return project(graph, node, [(f"c{i}", expr) for i, expr in enumerate(columns or (ROWS_ALONE,))])


def filtered(graph: Graph, node: int, condition: Expr | None) -> int:
    return node if condition is None else add(graph, n.Linear(node, n.Filter(condition)))


def summed(graph: Graph, nodes: Sequence[int]) -> int:
    """The sum of the counts of nodes with the same columns."""
    (*lifted,) = graph.together(tuple(nodes), users_place())
    return add(graph, n.Concat(tuple(lifted))) if len(lifted) > 1 else lifted[0]


def values(graph: Graph, rows: tuple[tuple[object, ...], ...], types: tuple[Type, ...]) -> int:
    """Rows that are there from the first time on: an input that the session feeds itself, one for equal rows."""
    if not types:
        rows, types = tuple((True,) for _ in rows), (BOOLEAN,)
    schema = Schema(tuple(Field(f"c{i}", kind) for i, kind in enumerate(types)))
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input) and node.schema == schema and node.rows == rows:
            return number
    taken = sum(isinstance(node, n.Input) and node.rows is not None for node in graph.nodes)
    return add(graph, n.Input(f"constant {taken + 1}", schema, (), rows))
