"""What every node of a graph does with its sources' collections.

Rule: a node's collection is a function of its sources' collections at the same time and in the same round. Those that
look elsewhere (inputs, delays, loops and what waits in them) are evaluated in `moment`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from ebbflow.columns.schema import NULL, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.runtime.oracle.functions import (
    arrays_of,
    asking,
    encoded_row,
    named_rows,
    remembering,
    row_function,
    rows_of,
)
from ebbflow.runtime.oracle.groups import first, of_group, order_by
from ebbflow.runtime.oracle.histories import Collection, Record, total
from ebbflow.runtime.oracle.values import Values
from ebbflow.runtime.oracle.window_meaning import windowed


class Meaning:
    """What every node of one graph does with its sources' collections.

    Row functions remember their answers, since a graph is asked the same rows at many times and rounds.
    """

    def __init__(self, graph: Graph, pool: object = None):
        self.graph, self.values = graph, Values(pool)
        self.does = [self._doing(node) for node in graph.nodes]
        self.turns = rounds_that_matter(graph)
        self.variables = {number: self._variables(*left) for number, left in loops_left(graph)}

    def needs(self, number: int) -> set[int]:
        """The nodes this node is computed from, itself included, back to what is given."""
        found: set[int] = set()
        todo = [number]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                if not self.is_given(at):
                    todo.extend(n.sources_of(self.graph.nodes[at]))
                    todo.extend([self.graph.next_of[at]] if at in self.graph.next_of else [])
        return found

    def reads(self, number: int) -> frozenset[int]:
        """The inputs, and delays, that a node is computed from."""
        return frozenset(filter(self.is_given, self.needs(number)))

    def inputs(self, number: int) -> frozenset[str]:
        """The names of the inputs that a node is computed from, through delays too."""
        given = [self.graph.nodes[i] for i in self.reads(number)]
        names = frozenset(node.name for node in given if isinstance(node, n.Input))
        return names.union(*(self.inputs(node.source) for node in given if isinstance(node, n.Linear)))

    def _variables(self, source: int, loop: int) -> list[int]:
        """The variables of a loop that decide what a node in it holds."""
        nodes = ((number, self.graph.nodes[number]) for number in sorted(self.needs(source)))
        return [number for number, node in nodes if isinstance(node, n.Feedback) and node.loop == loop]

    def is_given(self, number: int) -> bool:
        match self.graph.nodes[number]:
            case n.Input() | n.Linear(_, n.Delay()):
                return True
        return False

    def _doing(self, node: n.Node) -> Callable[..., Collection]:
        match node:
            case n.Linear(source, action):
                return self._linear(action, self.graph.schemas[source])
            case n.Concat():
                return lambda *parts: total(pair for part in parts for pair in part.items())
            case n.Arrange() | n.Output():
                return lambda source: source
            case n.Join(left, right, columns):
                return self._join(left, right, columns)
            case n.Reduce(source, key, reducer):
                return self._reduce(self.graph.schemas[source], key, reducer)
        return dict  # Input, Feedback: the moment knows

    def _linear(self, action: n.Action, schema: Schema) -> Callable[[Collection], Collection]:
        match action:
            case n.Map(columns):
                values = [row_function(expr, schema, self.values) for _, expr in columns]
                fn = remembering(lambda row: tuple(value(row) for value in values))
                return lambda rows: total((fn(row), weight) for row, weight in rows.items())
            case n.Filter(condition):
                keeps = remembering(row_function(condition, schema, self.values))
                return lambda rows: {row: weight for row, weight in rows.items() if keeps(row) == 1}
            case n.Apply(function, "batches", given):
                return self._batches(function, schema, given)
            case n.Apply(function, how, given):
                answers = self._own_rows(function, how, schema, given)
                return lambda rows: total((out, weight) for row, weight in rows.items() for out in answers(row))
            case n.Negate():
                return lambda rows: {row: -weight for row, weight in rows.items()}
        return lambda rows: rows  # Enter, Wait, Leave, Delay: the moment knows; Inspect passes everything on

    def _own_rows(
        self, function: n.Function, how: str, schema: Schema, given: Schema
    ) -> Callable[[Record], list[Record]]:
        decoded = named_rows(schema, self.values)

        def answers(row: Record) -> list[Record]:
            with asking(function):
                answer: Any = function.fn(decoded(row))
                return [encoded_row(given, out, self.values) for out in (answer if how == "flat" else [answer])]

        return remembering(answers)

    def _batches(self, function: n.Function, schema: Schema, given: Schema) -> Callable[[Collection], Collection]:
        def answers(rows: Collection) -> Collection:
            if not rows:
                return {}
            with asking(function):
                out: Any = function.fn(arrays_of(schema, list(rows), self.values))
                return total(zip(rows_of(given, out, self.values), rows.values(), strict=True))

        return answers

    def _join(self, left: int, right: int, columns: tuple[tuple[str, int, str], ...]) -> Callable[..., Collection]:
        sides = [cast(n.Arrange | n.Reduce, self.graph.nodes[side]) for side in (left, right)]
        schemas = [self.graph.schemas[left], self.graph.schemas[right]]
        keys = [[schema.index(name) for name in side.key] for schema, side in zip(schemas, sides, strict=True)]
        take = [(side, schemas[side].index(name)) for _, side, name in columns]

        def pairs(lefts: Collection, rights: Collection) -> Iterator[tuple[Record, int]]:
            index: dict[Record, list[tuple[Record, int]]] = defaultdict(list)
            for row, weight in rights.items():
                index[tuple(row[i] for i in keys[1])].append((row, weight))
            for row, weight in lefts.items():
                key = tuple(row[i] for i in keys[0])
                if NULL in key:
                    continue
                for other, times in index.get(key, ()):
                    yield tuple((row, other)[side][i] for side, i in take), weight * times

        return lambda lefts, rights: total(pairs(lefts, rights))

    def _reduce(self, schema: Schema, key: tuple[str, ...], reducer: n.Reducer) -> Callable[..., Collection]:
        if isinstance(reducer, n.Threshold):
            return self._threshold(reducer)
        at = [schema.index(name) for name in key]
        rest = [i for i, name in enumerate(schema.names) if name not in key]
        answer = self._group_answer(schema, rest, reducer)

        def reduced(rows: Collection) -> Collection:
            groups: dict[Record, Collection] = defaultdict(dict)
            for row, weight in rows.items():
                groups[tuple(row[i] for i in at)][row] = weight
            return total((k + o, weight) for k, group in groups.items() for o, weight in answer(group))

        return reduced

    def _threshold(self, reducer: n.Threshold) -> Callable[[Collection], Collection]:
        if reducer.function is None:
            return lambda rows: {row: 1 for row, weight in rows.items() if weight > 0}
        function = reducer.function

        def mapped(rows: Collection) -> Collection:
            with asking(function):
                return total((row, int(cast(Any, function.fn)(weight))) for row, weight in rows.items())

        return mapped

    def _group_answer(self, schema: Schema, rest: list[int], reducer: n.Reducer) -> Callable[[Collection], list]:
        """What a reducer says of one group of whole rows: rows without the key, with their weights."""
        values = self.values
        match reducer:
            case n.Aggregates(aggregates):
                asked = [(a, schema.index(a.column) if a.column is not None else -1) for a in aggregates]

                def aggregated(group: Collection) -> list:
                    if sum(group.values()) == 0:
                        return []
                    return [(tuple(of_group(a, at, schema, group, values) for a, at in asked), 1)]

                return aggregated
            case n.Top(limit, order):
                place = order_by(schema, order, values)
                return lambda group: [(tuple(row[i] for i in rest), c) for row, c in first(limit, group, place)]
            case n.Window():
                return lambda group: windowed(schema, rest, reducer, group, values)
            case n.Own(function, how, given):
                others = Schema(tuple(schema.fields[i] for i in rest))
                place, decoded = order_by(others, (), values), named_rows(others, values)

                def own(group: Collection) -> list:
                    bare = {tuple(row[i] for i in rest): weight for row, weight in group.items()}
                    rows = sorted(bare, key=place)
                    with asking(function):
                        if how == "rows":
                            answers: Any = function.fn([(decoded(row), bare[row]) for row in rows])
                            return [(encoded_row(given, row, values), 1) for row in answers]
                        counts = np.array([bare[row] for row in rows], np.int64)
                        columns = {**arrays_of(others, rows, values), "_count": counts}
                        answered, _ = cast(Any, function.fn)(columns, np.array([0, len(rows)], np.int64))
                        return [(row, 1) for row in rows_of(given, answered, values)]

                return own
        raise AssertionError(reducer)


def loops_left(graph: Graph) -> Iterator[tuple[int, tuple[int, int]]]:
    for number, node in enumerate(graph.nodes):
        match node:
            case n.Linear(source, n.Leave(loop)):
                yield number, (source, loop)


def rounds_that_matter(graph: Graph) -> list[tuple[bool, ...]]:
    """For each node and each loop around it: whether what it holds can differ from round to round."""
    loops: list[set[int]] = [set() for _ in graph.nodes]
    grew = True
    while grew:
        grew = False
        for number, node in enumerate(graph.nodes):
            found = set().union(*(loops[source] for source in n.sources_of(node)))
            match node:
                case n.Feedback(_, loop):
                    found |= {loop} | loops[graph.next_of[number]]
                case n.Linear(_, action) if n.TRAITS[type(action)].by_round:
                    found |= {graph.scopes[number][-1]}
                case n.Linear(_, n.Leave(loop)):
                    found -= {loop}
            grew, loops[number] = grew or found != loops[number], found
    return [tuple(loop in found for loop in scope) for scope, found in zip(graph.scopes, loops, strict=True)]
