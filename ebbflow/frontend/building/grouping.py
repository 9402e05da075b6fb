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
from ebbflow.columns.schema import DOUBLE, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, result_type, takes
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import DuplicateName, NotAnExpression, TypeMismatch, users_place
from ebbflow.expressions import ast as w
from ebbflow.expressions.operations import cast
from ebbflow.expressions.resolve import resolve, unknown_column
from ebbflow.expressions.typed import Column as Read
from ebbflow.expressions.typed import Expr
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_method
from ebbflow.frontend.building import collecting
from ebbflow.frontend.building.column import Column, refuse_pyspark
from ebbflow.frontend.building.key_sets import Sets, by_sets, pivoted, values_of
from ebbflow.frontend.building.lineage import called, resolved, row_of
from ebbflow.frontend.building.shaping import Named, computed, every_column, own_function, project, projected, unused
from ebbflow.frontend.building.tracing import traced, value_of

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
        plan = _Aggregation(self._graph, self._node, keys)
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
                hint=f'Give it one: agg(total=ebb.{_again(column.tree)}), or ebb.{_again(column.tree)}.alias("total").'
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


def _again(tree: w.Aggregated) -> str:
    """An aggregate as people write it."""
    if tree.of is None:
        return "count()"
    return f'{tree.op}("{tree.of}")' if isinstance(tree.of, w.Named) else f"{tree.op}(...)"


class _Aggregation:
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


# ---- the first rows -------------------------------------------------------------------------


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
