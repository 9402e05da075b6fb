"""Names as they are written: what a column of the planner's own is, in the words of whoever wrote the query.

Queries of SQL and DataFrames have columns by position, which get names of the planner's (`c0`, `k1`, `a0`).  In a
refusal they are said as the columns of tables, and the expressions, that they are copies of.

Rule: a name that is not one of the planner's is said as it is.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.expressions.typed import Call, Column, Expr

BY_POSITION = re.compile(r"[acknor]\d+")
"""The names that `relational/build` gives."""


def as_written(graph: Graph, node: int, name: str) -> str:
    """A column of a node, followed back to what somebody named."""
    found = name
    while BY_POSITION.fullmatch(found):
        match graph.nodes[node]:
            case n.Linear(source, n.Map(columns)):
                expr = dict(columns)[found]
                if not isinstance(expr, Column):
                    return str(_in_words(graph, source, expr))
                node, found = source, expr.name
            case n.Linear(source, n.Filter() | n.Enter() | n.Leave() | n.Negate()) | n.Arrange(source, _):
                node = source
            case n.Join(left, right, columns):
                node, found = next(((left, right)[side], there) for shown, side, there in columns if shown == found)
            case n.Reduce(source, key) if found in key:
                node = source
            case _:
                break
    return found


def _in_words(graph: Graph, node: int, expr: Expr) -> Expr:
    match expr:
        case Column(name, kind):
            return Column(as_written(graph, node, name), kind)
        case Call(_, args):
            return replace(expr, args=tuple(_in_words(graph, node, arg) for arg in args))
    return expr
