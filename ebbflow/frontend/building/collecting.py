"""Groups with collecting aggregates among others: each column that is collected is a reduction of its own.

So a list of one column is made again only when its own values change, however often the others do.  The reductions are
joined by their keys, null among them.

Rule: the groups are those that the plain aggregates have; what comes out has the schema that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ebbflow.columns.schema import BOOLEAN, LONG, STRING, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of
from ebbflow.dataflow.collecting import collector
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import Place
from ebbflow.expressions.operations import cast, typed
from ebbflow.expressions.typed import Column, Expr, Literal
from ebbflow.frontend.building.shaping import project, unused

Parts = dict[tuple[str, str | None], list[n.Aggregate]]


def reduced(
    graph: Graph, node: int, keys: Sequence[str], aggregates: Sequence[n.Aggregate], schema: Schema, at: Place | None
) -> int:
    """One reduction, or several that are joined where some collect."""
    plain = [each for each in aggregates if not kind_of(each.op).collects]
    if len(plain) == len(aggregates):
        return graph.add(n.Reduce(node, tuple(keys), n.Aggregates(tuple(aggregates)), schema), at)
    parts: Parts = {}
    for each in aggregates:
        if each not in plain:
            assert each.column is not None
            parts.setdefault((each.column, each.by), []).append(each)
    found = [_collected(graph, node, keys, column, by, asked, schema, at) for (column, by), asked in parts.items()]
    if plain or len(found) > 1:
        there = plain or [n.Aggregate("count_rows", None, unused("_rows", schema.names))]
        fields = [Field(key, schema[key]) for key in keys]
        fields += [Field(each.name, schema[each.name] if plain else LONG) for each in there]
        base = n.Reduce(node, tuple(keys), n.Aggregates(tuple(there)), Schema(tuple(fields)))
        answer = graph.add(base, at)
        for other in found:
            answer = _joined(graph, answer, other, keys, at)
    else:
        (answer,) = found
    return project(graph, answer, [(field.name, Column(field.name, field.type)) for field in schema])


def _collected(
    graph: Graph, node: int, keys: Sequence[str], column: str, by: str | None, asked: list[n.Aggregate],
    schema: Schema, at: Place | None,
) -> int:  # fmt: skip
    """One column, in one order: the keys, then the aggregates of it."""
    source = graph.schemas[node]
    names = [(key, Column(key, source[key])) for key in keys]
    value = unused("_value", keys)
    read: list[tuple[str, Expr]] = [*names, (value, Column(column, source[column]))]
    if by is not None:
        read.append((unused("_by", [*keys, value]), Column(by, source[by])))
    function = collector(tuple(each.op for each in asked), source[column], None if by is None else source[by])
    given = Schema(tuple(Field(each.name, schema[each.name]) for each in asked))
    fields = (*(Field(key, source[key]) for key in keys), *given.fields)
    return graph.add(
        n.Reduce(project(graph, node, read), tuple(keys), n.Own(function, "rows", given), Schema(fields)), at
    )


def _joined(graph: Graph, one: int, two: int, keys: Sequence[str], at: Place | None) -> int:
    """Two reductions by the same keys, put together."""
    mine, names = _keyed(graph, one, keys)
    theirs, _ = _keyed(graph, two, keys)
    columns = [(name, 0, name) for name in graph.schemas[one].names]
    columns += [(name, 1, name) for name in graph.schemas[two].names if name not in keys]
    left, right = (graph.add(n.Arrange(side, names), at) for side in (mine, theirs))
    return graph.add(n.Join(left, right, tuple(columns)), at)


def _keyed(graph: Graph, node: int, keys: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """The collection with keys that are never null, and their names."""
    schema = graph.schemas[node]
    parts = [part for key in keys for part in null_safe(Column(key, schema[key]))] or [Literal(True, BOOLEAN)]
    names = tuple(f"\0key{i}" for i in range(len(parts)))
    own = [(field.name, Column(field.name, field.type)) for field in schema]
    return project(graph, node, [*own, *zip(names, parts)]), names


def null_safe(expr: Expr) -> list[Expr]:
    """Keys that are never null and equal where the values are, null among them."""
    return [typed("is_null", (expr,)), typed("coalesce", (expr, some_value(expr.type)))]


def some_value(kind: Type) -> Expr:
    """Any value of a type."""
    if kind.is_nested:
        return Literal((None,) * len(kind.parts) if kind.name == "struct" else (), kind)
    if kind.name == "string":
        return Literal("", kind)
    if kind.name == "binary":
        return Literal(b"", kind)
    if kind.name == "boolean":
        return Literal(False, kind)
    if kind.name == "decimal":
        return Literal(Decimal(0).scaleb(-kind.scale), kind)
    if kind.is_float:
        return Literal(0.0, kind)
    if kind.is_integer:
        return Literal(0, LONG)
    return cast(Literal("1970-01-01", STRING), kind)
