"""Narrowing: arrangements, joins and aggregates carry only the columns that someone reads after them.

Rule: a node keeps every column that is read of it, and at least one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.dataflow.rebuild import Mapping, Rebuild, every_column
from ebbflow.expressions.typed import Column, columns_of


def narrowed(graph: Graph) -> tuple[Graph, Mapping]:
    """Arrangements, joins and aggregates with only the columns that someone reads after them."""
    wanted = columns_read(graph)
    rebuild = Rebuild(graph)
    for number, node in enumerate(graph.nodes):
        rebuild.put(number, _narrow(rebuild, number, node, wanted))
    return rebuild.done()


def columns_read(graph: Graph) -> list[tuple[str, ...]]:
    """For each node the columns that are read of it, in their order; never none, since a row needs a column."""
    read: list[set[str]] = [set() for _ in graph.nodes]
    for following in graph.next_of.values():
        read[following].update(graph.schemas[following].names)
    for number in reversed(range(len(graph.nodes))):
        names = graph.schemas[number].names
        read[number] &= set(names)
        if not read[number] or isinstance(graph.nodes[number], n.Output | n.Feedback):
            read[number] = set(names) if isinstance(graph.nodes[number], n.Output | n.Feedback) else set(names[:1])
        _ask_sources(graph, number, read)
    return [tuple(name for name in graph.schemas[i].names if name in asked) for i, asked in enumerate(read)]


def _ask_sources(graph: Graph, number: int, read: list[set[str]]) -> None:
    """Note what a node, of which `read[number]` is read, reads itself."""
    mine = read[number]
    match graph.nodes[number]:
        case n.Linear(source, n.Map(columns)):
            read[source].update(used for name, expr in columns if name in mine for used in columns_of(expr))
        case n.Linear(source, action) if (asked := n.columns_read(action)) is not None:
            read[source].update(mine, asked)
        case n.Concat(sources):
            for source in sources:
                read[source].update(mine)
        case n.Arrange(source, key):
            mine.update(key)
            read[source].update(mine)
        case n.Join(left, right, columns):
            for name, side, there in columns:
                if name in mine:
                    read[(left, right)[side]].add(there)
        case n.Reduce(source, key, n.Aggregates(aggregates)):
            read[source].update(key, (name for each in _kept(aggregates, mine) for name in each.columns))
        case node:  # a user's function, a whole row, an output: all there is
            for source in n.sources_of(node):
                read[source].update(graph.schemas[source].names)


def _narrow(rebuild: Rebuild, number: int, node: n.Node, wanted: list[tuple[str, ...]]) -> n.Node:
    mine, here = wanted[number], renumbered(node, rebuild.moved)
    match here:
        case n.Linear(source, n.Map(columns)):
            return n.Linear(source, n.Map(tuple((name, expr) for name, expr in columns if name in mine)))
        case n.Join(left, right, columns):
            return n.Join(left, right, tuple(column for column in columns if column[0] in mine))
        case n.Concat(sources):
            return n.Concat(tuple(_only(rebuild, number, source, mine) for source in sources))
        case n.Arrange(source, key):
            if _answers_by(rebuild.new.nodes[source], key):
                return here
            return n.Arrange(_only(rebuild, number, source, mine), key)
        case n.Reduce(source, key, n.Aggregates(aggregates), schema):
            kept = _kept(aggregates, mine)
            asked = {*key, *(name for each in kept for name in each.columns)}
            names = [name for name in rebuild.new.schemas[source].names if name in asked]
            fields = schema.fields[: len(key)] + tuple(schema.fields[schema.index(each.name)] for each in kept)
            return n.Reduce(_only(rebuild, number, source, names), key, n.Aggregates(kept), Schema(fields))
    return here


def _kept(aggregates: tuple[n.Aggregate, ...], names: Iterable[str]) -> tuple[n.Aggregate, ...]:
    """The aggregates that are read, and at least one: a group is there even if nobody asks what it holds."""
    return tuple(each for each in aggregates if each.name in names) or aggregates[:1]


def _answers_by(node: n.Node, key: tuple[str, ...]) -> bool:
    """Whether a reduce gives its answers by this very key: they are arranged as they stand."""
    return isinstance(node, n.Reduce) and set(node.key) == set(key)


def _only(rebuild: Rebuild, number: int, source: int, names: Iterable[str]) -> int:
    """A new node cut down to these columns."""
    schema = rebuild.new.schemas[source]
    columns = tuple((name, Column(name, schema[name])) for name in names)
    if not columns or columns == every_column(schema):
        return source
    return rebuild.add(number, n.Linear(source, n.Map(columns)))
