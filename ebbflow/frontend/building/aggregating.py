"""What `agg` is given, as aggregates of a reduction and what is computed of them.

Rule: an aggregate that is written twice is computed once.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.ddl import checked
from ebbflow.columns.schema import DOUBLE, Field, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, result_type, takes
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import TypeMismatch, users_place
from ebbflow.expressions import ast as w
from ebbflow.expressions.operations import cast
from ebbflow.expressions.resolve import resolve, unknown_column
from ebbflow.expressions.typed import Column as Read
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building import collecting
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.lineage import called, resolved
from ebbflow.frontend.building.shaping import Named, project, projected, unused


def again(tree: w.Aggregated) -> str:
    """An aggregate as people write it."""
    if tree.of is None:
        return "count()"
    return f'{tree.op}("{tree.of}")' if isinstance(tree.of, w.Named) else f"{tree.op}(...)"


class Aggregation:
    """The columns that aggregates read, the reduction, and what is computed of its answers."""

    def __init__(self, graph: Graph, node: int, keys: list[Named]):
        self.graph, self.node, self.keys = graph, node, keys
        self.read: dict[Expr, str] = {}  # what aggregates are of -> its column before the reduction

    def reduced(self, asked: list[tuple[str, Any]]) -> int:
        """One reduction: (name, aggregate) pairs."""
        aggregates, types = [], []
        for name, tree in asked:
            column, kind = (None, None) if tree.of is None else self._column(tree.op, tree.of)
            by = None if tree.by is None else self._column("max", tree.by)[0]
            aggregates.append(n.Aggregate(tree.op, column, name, by))
            types.append(Field(name, result_type(tree.op, kind)))
        key_fields = [Field(name, expr.type) for name, expr in self.keys]
        schema = checked([*key_fields, *types])
        columns = [*self.keys, *((name, expr) for expr, name in self.read.items())]
        node = project(self.graph, self.node, columns) if columns else self.node
        names = tuple(name for name, _ in self.keys)
        return collecting.reduced(self.graph, node, names, aggregates, schema, users_place())

    def _column(self, op: str, tree: w.Ast) -> tuple[str, Type]:
        expr = resolved(self.graph, self.node, tree, op)
        if kind_of(op).takes == "double" and expr.type.is_number:
            expr = cast(expr, DOUBLE)
        if not takes(op, expr.type):
            hint = (
                'Cast it: .cast("long").'
                if expr.type.name in ("boolean", "string")
                else "min, max and count_distinct take any type."
            )
            wants = "takes whole numbers" if kind_of(op).takes == "whole" else "adds up numbers"
            raise TypeMismatch(f'{op} {wants}, and "{expr}" is of type {expr.type}.', hint=hint)
        if expr not in self.read:
            plain = isinstance(expr, Read) and all(expr.name != name for name, _ in self.keys)
            taken = {*self.graph.schemas[self.node].names, *(name for name, _ in self.keys), *self.read.values()}
            self.read[expr] = str(expr) if plain else unused(f"_of{len(self.read)}", taken)
        return self.read[expr], expr.type

    def combined(self, asked: list[tuple[str, Column]]) -> int:
        """Aggregates first, under names of ours, then the expressions over them."""
        parts = dict.fromkeys(
            part for _, column in asked for part in w.parts_of(column.tree) if isinstance(part, w.Aggregated)
        )
        keyed = [name for name, _ in self.keys]
        hidden = {part: unused(f"_{i}", keyed) for i, part in enumerate(parts)}
        node = self.reduced([(name, part) for part, name in hidden.items()])
        schema = self.graph.schemas[node]
        keys = [(name, Read(name, schema[name])) for name, _ in self.keys]
        shown = []
        for name, column in asked:
            tree = self._replaced(column.tree, hidden)
            shown.append((name, resolve(tree, schema, "agg", called(self.graph, self.node), self.graph.ansi)))
        return projected(self.graph, node, [*keys, *shown])

    def _replaced(self, tree: w.Ast, hidden: dict[w.Aggregated, str]) -> w.Ast:
        """The expression over the reduction's answers; beside aggregates, only the keys have one value for a group."""
        match tree:
            case w.Aggregated():
                return w.Named(hidden[tree])
            case w.Applied(op, args, options):
                return w.Applied(op, tuple(self._replaced(arg, hidden) for arg in args), options)
            case w.Named(name) if all(name != key for key, _ in self.keys):
                groups = f"the groups of {called(self.graph, self.node)}"
                keys = [key for key, _ in self.keys]
                more = f'One value of many is ebb.any_value("{name}").'
                raise unknown_column(f'agg looks for the column "{name}" in {groups}', name, keys, more)
        return tree
