"""Several sets of keys at once: rollup, cube, grouping sets; and pivot, which has one column for each value of a key.

Rule: a set that leaves a key out has null for it; a cell of a pivot without rows is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import NotAnExpression, users_place
from ebbflow.expressions import ast as w
from ebbflow.expressions.typed import Column as Read
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.frontend.building.column import Column, lit, when
from ebbflow.frontend.building.shaping import Named, project

Sets = tuple[tuple[int, ...], ...]


def rolled_up(count: int) -> Sets:
    """All keys, all but the last, ..., none."""
    return tuple(tuple(range(n)) for n in range(count, -1, -1))


def cubed(count: int) -> Sets:
    """Every choice of the keys."""
    return tuple(chosen for size in range(count, -1, -1) for chosen in combinations(range(count), size))


def by_sets(graph: Graph, keys: list[Named], sets: Sets, reduced: Callable[[list[Named]], int]) -> int:
    """One reduction for each set, put together; `reduced` makes the one by some of the keys."""
    parts = []
    for chosen in sets:
        found = reduced([keys[i] for i in chosen])
        schema = graph.schemas[found]
        columns: list[tuple[str, Expr]] = [
            (name, Read(name, expr.type) if i in chosen else Literal(None, expr.type))
            for i, (name, expr) in enumerate(keys)
        ]
        columns += [(field.name, Read(field.name, field.type)) for field in schema.fields[len(chosen) :]]
        parts.append(project(graph, found, columns))
    return parts[0] if len(parts) == 1 else graph.add(n.Concat(tuple(parts)), users_place())


def pivoted(asked: list[tuple[str, Column]], of: Column, values: Sequence[object]) -> list[tuple[str, Column]]:
    """Each aggregate for each value of a column: named by the value, and by the aggregate where there are several."""
    found = []
    for value in values:
        here = of.is_null() if value is None else of == lit(value)
        rows = Column(w.Aggregated("count", when(here, 1).tree))
        for name, column in asked:
            cell = when(rows == 0, None).otherwise(Column(_within(column.tree, here)))
            found.append((str(value) if len(asked) == 1 else f"{value}_{name}", cell))
    return found


def _within(tree: w.Ast, here: Column) -> w.Ast:
    """An expression over aggregates, of the rows for which a condition holds."""
    match tree:
        case w.Aggregated("count_rows"):
            return w.Aggregated("count", when(here, 1).tree)
        case w.Aggregated(op, of, by) if of is not None:
            only = when(here, Column(of)).tree
            return w.Aggregated(op, only, None if by is None else when(here, Column(by)).tree)
        case w.Applied(op, args, options):
            return w.Applied(op, tuple(_within(arg, here) for arg in args), options)
    return tree


def values_of(values: object) -> list[object]:
    if not isinstance(values, list | tuple) or not values:
        raise NotAnExpression(
            "pivot needs to know the values that become columns: which there are may change.",
            hint='Name them: group_by("shop").pivot("kind", ["a", "b"]).sum("price").',
        )
    return list(values)
