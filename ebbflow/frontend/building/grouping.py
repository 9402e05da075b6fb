"""Grouping: aggregates over the rows that share a key.

An aggregate may be of any expression, and an expression may be over aggregates: what the aggregates read is computed
before, what combines them after, with one reduction between.

Rule: a group exists as long as the count of its rows is not zero; its columns are the keys, then the aggregates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from ebbflow import functions as F
from ebbflow.columns.ddl import checked, schema_of
from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import DuplicateName, NotAnExpression, users_place
from ebbflow.expressions import ast as w
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_method
from ebbflow.frontend.building.aggregating import Aggregation, again
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.key_sets import Sets, by_sets, pivoted, values_of
from ebbflow.frontend.building.lineage import called, row_of
from ebbflow.frontend.building.mistakes import refuse_pyspark
from ebbflow.frontend.building.ordering_keys import first, order_of
from ebbflow.frontend.building.shaping import Named, every_column, own_function, project
from ebbflow.frontend.building.tracing import traced, value_of
from ebbflow.frontend.plain import plain

Made = TypeVar("Made")


class Grouped(Generic[Made]):
    """A collection by key, as `group_by` gives it."""

    def __init__(
        self, graph: Graph, node: int, keys: list[Named], made: Callable[[int], Made], sets: Sets | None = None
    ):
        self._graph, self._node, self._keys, self._made = graph, node, keys, made
        self._sets = sets  # of keys, by their numbers; None: all of them, and no others
        self._pivot: tuple[Column, list[object]] | None = None
        checked(Field(name, expr.type) for name, expr in keys)

    def agg(self, /, *columns: Column | Callable[..., object], **named: object) -> Made:
        """One row for each group: the keys, then the aggregates.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, price double")
        >>> totals = sales.group_by("shop").agg(total=ebb.sum("price"), mean=ebb.sum("price") / ebb.count())
        >>> flow.output("totals", totals)
        >>> flow.compute(sales=[("a", 1.5), ("a", 2.5), ("b", 4.0)])["totals"].rows()
        [('a', 4.0, 2.0, 1), ('b', 4.0, 4.0, 1)]
        """
        asked = [
            *(self._named(column) for column in columns),
            *((name, self._aggregate(name, x)) for name, x in named.items()),
        ]
        if not asked:
            raise NotAnExpression(
                "agg has nothing to compute.", hint='For example agg(n=ebb.count(), total=ebb.sum("x")).'
            )
        self._no_clash([name for name, _ in asked])
        if self._pivot is not None:
            asked = pivoted(asked, *self._pivot)
        if self._sets is None:
            return self._made(self._reduced(self._keys, asked))
        return self._made(by_sets(self._graph, self._keys, self._sets, lambda keys: self._reduced(keys, asked)))

    def _reduced(self, keys: list[Named], asked: list[tuple[str, Column]]) -> int:
        plan = Aggregation(self._graph, self._node, keys)
        if all(isinstance(column.tree, w.Aggregated) for _, column in asked):
            return plan.reduced([(name, column.tree) for name, column in asked])
        return plan.combined(asked)

    def pivot(self, column: object, values: object = None) -> Grouped[Made]:
        """A column for each of these values of a column: what comes next is computed of the rows that have it.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, kind string, n long")
        >>> flow.output("out", sales.group_by("shop").pivot("kind", ["x", "y"]).sum("n"))
        >>> flow.compute(sales=[("a", "x", 1), ("a", "x", 2), ("a", "y", 5), ("b", "x", 7)])["out"].rows()
        [('a', 3, 5, 1), ('b', 7, None, 1)]
        """
        found = Grouped(self._graph, self._node, self._keys, self._made, self._sets)
        row = row_of(self._graph, self._node, "pivot")
        found._pivot = value_of(column, row, "pivot"), values_of(values)
        return found

    def count(self) -> Made:
        """How many rows each group has, with their multiplicities, as the column "count".

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").count())
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 2, 1), ('b', 1, 1)]
        """
        return self.agg(count=F.count())

    def sum(self, *columns: str, **named: object) -> Made:
        """The sums of these columns, under their names, or `sum(total="x")`.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").sum("n"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 6, 1), ('b', None, 1)]
        """
        return self._each(F.sum, columns, named)

    def avg(self, *columns: str, **named: object) -> Made:
        """The means of these columns, doubles.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").avg("n"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 3.0, 1), ('b', None, 1)]
        """
        return self._each(F.avg, columns, named)

    def min(self, *columns: str, **named: object) -> Made:
        """The least values of these columns.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").min("n"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 1, 1), ('b', None, 1)]
        """
        return self._each(F.min, columns, named)

    def max(self, *columns: str, **named: object) -> Made:
        """The largest values of these columns.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").max("n"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 5, 1), ('b', None, 1)]
        """
        return self._each(F.max, columns, named)

    def any_value(self, *columns: str, **named: object) -> Made:
        """One value of each of these columns, the least.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").any_value("n"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 1, 1), ('b', None, 1)]
        """
        return self._each(F.any_value, columns, named)

    def count_distinct(self, *columns: str, **named: object) -> Made:
        """How many different values each of these columns has.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("out", flow.input("sales", "shop string, n long").group_by("shop").count_distinct("n"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", None)])["out"].rows()
        [('a', 2, 1), ('b', 0, 1)]
        """
        return self._each(F.count_distinct, columns, named)

    def top(self, n: int, order_by: object = None) -> Made:
        """The first rows of each group; `order_by="-x"` has the largest x first.  Ties go by the whole row.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, price long")
        >>> flow.output("best", sales.group_by("shop").top(1, order_by="-price"))
        >>> flow.compute(sales=[("a", 1), ("a", 2), ("b", 4)])["best"].rows()
        [('a', 2, 1), ('b', 4, 1)]
        """
        self._plain("top")
        order = [] if order_by is None else order_of(self._graph, self._node, order_by, "top")
        if not order:
            raise NotAnExpression("top needs an order.", hint='For example top(3, order_by="-x"), the largest x first.')
        return self._made(first(self._graph, self._node, self._keys, n, order, "top"))

    def reduce(self, fn: Callable[..., object], schema: object) -> Made:
        """Your own reduction.

        `fn(rows)` gets the group's non-key columns as a sorted list of (row, count) pairs, row a named tuple, and
        returns rows of `schema`; the keys are put in front.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> words = flow.input("words", "first string, word string")
        >>> joined = lambda rows: [(" ".join(row.word for row, count in rows),)]
        >>> flow.output("lists", words.group_by("first").reduce(joined, "all string"))
        >>> flow.compute(words=[("a", "ant"), ("a", "ape"), ("b", "bee")])["lists"].rows()
        [('a', 'ant ape', 1), ('b', 'bee', 1)]
        """
        return self._own(fn, schema, "rows")

    def reduce_batches(self, fn: Callable[..., object], schema: object) -> Made:
        """The vectorised sister of reduce.

        `fn(columns, offsets)` gets all the groups of a step, a dict of arrays with `_count` and the offsets at which
        groups begin, and returns the same two for `schema`; or the columns alone, with a row for each group.

        >>> import ebbflow as ebb
        >>> import numpy as np
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, n long")
        >>> def totals(columns, offsets):
        ...     return {"t": np.add.reduceat(columns["n"] * columns["_count"], offsets[:-1])}
        >>> flow.output("totals", sales.group_by("shop").reduce_batches(totals, "t long"))
        >>> flow.compute(sales=[("a", 1), ("a", 5), ("b", 3)])["totals"].rows()
        [('a', 6, 1), ('b', 3, 1)]
        """
        return self._own(fn, schema, "batches")

    mean = avg  # PySpark's spelling

    if not TYPE_CHECKING:  # a type checker knows the methods there are

        def __getattr__(self, name: str) -> NoReturn:
            known = [word for word in dir(Grouped) if not word.startswith("_")]
            raise unknown_method(name, "A grouped collection", aliases.FOREIGN_GROUPED, known)

    def __repr__(self) -> str:
        return f"Grouped({called(self._graph, self._node)} by {', '.join(name for name, _ in self._keys) or 'nothing'})"

    # ---- what they share --------------------------------------------------------------------

    def _each(self, function: Callable[[Any], Column], columns: tuple[object, ...], named: dict[str, object]) -> Made:
        if not columns and not named:
            raise NotAnExpression(
                f"{function.__name__} does not know of which columns.", hint=f'For example .{function.__name__}("x").'
            )
        plain = {column: column for column in columns if isinstance(column, str)}
        more = [function(column).alias(column.output_name or "") for column in columns if isinstance(column, Column)]
        return self.agg(*more, **{name: function(of) for name, of in {**plain, **named}.items()})

    def _named(self, given: object) -> tuple[str, Column]:
        column = self._aggregate("total", given)
        if not column.given_name:
            raise NotAnExpression(
                f"{column.tree} has no name among the columns of the result.",
                hint=f'Give it one: agg(total=ebb.{again(column.tree)}), or ebb.{again(column.tree)}.alias("total").'
                if isinstance(column.tree, w.Aggregated)
                else 'Give it one: agg(total=...), or (...).alias("total").',
            )
        return column.given_name, column

    def _aggregate(self, name: str, given: object) -> Column:
        row = row_of(self._graph, self._node, "agg")
        column = traced(given, row, "agg") if callable(given) and not isinstance(given, Column) else given
        if isinstance(column, Column):
            column = _of_groups(column)
        if not isinstance(column, Column) or not any(
            isinstance(part, w.Aggregated) for part in w.parts_of(column.tree)
        ):
            refuse_pyspark(column)
            if isinstance(column, dict):
                raise NotAnExpression(
                    f"agg takes aggregates by the names of their columns, and no dict: {plain(column)}.",
                    hint='Write agg(total=ebb.sum("x"), n=ebb.count()).',
                )
            shown = column.tree if isinstance(column, Column) else repr(column)
            is_name = isinstance(column, Column) and isinstance(column.tree, w.Named)
            of = f'"{shown}"' if is_name else f'"{column}"' if isinstance(column, str) else '"x"'
            raise NotAnExpression(
                f"agg computes one value for each group, and {shown} has one for each row.",
                hint=f"Say which: {name}=ebb.sum({of}), or count, avg, min, max, any_value, count_distinct.",
            )
        return column

    def _plain(self, verb: str) -> None:
        if self._sets is not None or self._pivot is not None:
            raise NotAnExpression(
                f"{verb} is of the rows of plain groups, not of a rollup, a cube or a pivot.",
                hint=f"Write group_by(...).{verb}(...); agg(...) computes aggregates of sets of keys.",
            )

    def _no_clash(self, names: list[str]) -> None:
        keys = {name for name, _ in self._keys}
        for name in names:
            if name in keys:
                raise DuplicateName(
                    f'"{name}" is a key of the groups and cannot be computed too.',
                    hint="Give the aggregate another name: agg(n=ebb.count()).",
                )

    def _own(self, fn: Callable[..., object], schema: object, how: str) -> Made:
        self._plain("reduce")
        function, given = own_function(fn, "reduce"), schema_of(schema)
        self._no_clash(list(given.names))
        keys = [name for name, _ in self._keys]
        source = self._graph.schemas[self._node]
        others = [(name, expr) for name, expr in every_column(source) if name not in keys]
        node = project(self._graph, self._node, [*self._keys, *others])
        fields = (*(Field(name, expr.type) for name, expr in self._keys), *given.fields)
        return self._made(
            self._graph.add(n.Reduce(node, tuple(keys), n.Own(function, how, given), Schema(fields)), users_place())
        )


def _of_groups(column: Column) -> Column:
    """first and last of a group, which has no order: its least and its largest value."""
    match column.tree:
        case w.Placed("first_value" | "last_value" as op, of, 0, None) if of is not None:
            tree = w.Aggregated("min" if op == "first_value" else "max", of)
            return Column(tree, column.given_name)
    return column
