"""Columns to order by, with their direction, and the first rows in that order.

Rule: ties are broken by the whole row, so that equal inputs give equal results.
"""

from __future__ import annotations

from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import NotAnExpression, TypeMismatch, users_place
from ebbflow.expressions import ast as w
from ebbflow.expressions.typed import Column as Read
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building.lineage import resolved
from ebbflow.frontend.building.shaping import Named, computed, every_column, project, unused


def order_of(graph: Graph, node: int, given: object, verb: str) -> list[tuple[Expr, bool]]:
    """(what to order by, whether the largest comes first) from "x", "-x", a column, .desc(), a lambda, or several."""
    if isinstance(given, list | tuple):
        return [each for one in given for each in order_of(graph, node, one, verb)]
    down = False
    if isinstance(given, str) and given.startswith("-") and given not in graph.schemas[node]:
        given, down = given[1:], True
    column, expr = computed(graph, node, given, verb)
    match column.tree:
        case w.Applied("neg", (w.Named() as tree,)):  # -r.x reads as "-x"; text can be turned around too
            expr, down = resolved(graph, node, tree, verb), True
    if column.nulls_last not in (None, column.descending):
        raise NotAnExpression(
            f"{verb} has nulls first in rising order and last in falling order.",
            hint="Order by .is_null() first for another; the order of a window takes asc_nulls_last and the like.",
        )
    return [(expr, down != column.descending)]


def first(graph: Graph, node: int, keys: list[Named], number: object, order: list[tuple[Expr, bool]], verb: str) -> int:
    """The first rows of each group, with the columns that the collection has."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number < 2**63:
        raise TypeMismatch(
            f"{verb} gives the first n rows, n a whole number from 1, of 64 bits; got {number!r}.",
            hint='For example .top(10, order_by="-x").' if verb == "top" else f"For example .{verb}(10).",
        )
    columns = every_column(graph.schemas[node])
    computed_keys = [(name, expr) for name, expr in keys if (name, expr) not in columns]
    shown = [*computed_keys, *(column for column in columns if column[0] not in dict(computed_keys))]
    added = [
        (unused(f"_by{i}", [name for name, _ in shown]), expr)
        for i, (expr, _) in enumerate(order)
        if not (isinstance(expr, Read) and (expr.name, expr) in shown)
    ]
    by_name = {expr: name for name, expr in added}
    names = [(by_name[expr] if expr in by_name else str(expr), down) for expr, down in order]
    key_names = tuple(name for name, _ in keys)
    source = project(graph, node, [*shown, *added])
    fields = [
        *(Field(name, expr.type) for name, expr in keys),
        *(field for field in graph.schemas[source] if field.name not in key_names),
    ]
    by = tuple({name: (name, down) for name, down in reversed(names) if name not in key_names}.values())[::-1]
    top = graph.add(n.Reduce(source, key_names, n.Top(number, by), Schema(tuple(fields))), users_place())
    return project(graph, top, [(name, Read(name, expr.type)) for name, expr in shown])
