"""From relations to the nodes of a program's graph.

Every relation becomes nodes that the engine keeps up to date: a join by its equal keys, an aggregate by its group, a
subquery (already a join) by the columns it reads.  Equal relations are built once.

Rule: a relation's node has its columns under their positions, `c0`, `c1`, ..., so that its expressions can be used as
they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ebbflow.columns.schema import BOOLEAN, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import of_nothing
from ebbflow.dataflow.exploding import add_exploded
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.windows import PLACES, Asked, add_window
from ebbflow.errors import StepRefused, users_place
from ebbflow.expressions.operations import typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.frontend.building.collecting import reduced
from ebbflow.frontend.building.shaping import distinct, negated, own_function, project
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import VALUE_BY
from ebbflow.relational.algebra import Relation
from ebbflow.relational.bounds import bounded, in_order
from ebbflow.relational.conditions import conjunction, same_value
from ebbflow.relational.joins import Side, join, joined_by
from ebbflow.relational.numbered import ROWS_ALONE, add, filtered, projected, summed, values
from ebbflow.relational.ordering import joined
from ebbflow.relational.stepping import values_between


class Builder:
    """Builds relations in one graph; what was built is remembered, and the variables of loops that are open."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self._built: dict[tuple[Relation, tuple[int, ...]], int] = {}
        self._variables: dict[str, int] = {}

    def node(self, relation: Relation) -> int:
        """The number of the node that gives this relation."""
        known = (relation, tuple(self._variables.values()))
        if known not in self._built:
            self._built[known] = self._node(relation)
        return self._built[known]

    def _node(self, relation: Relation) -> int:
        match relation:
            case a.Given(number, names, types):
                return projected(self.graph, number, [Column(name, kind) for name, kind in zip(names, types)])
            case a.Values(rows, types):
                return values(self.graph, rows, types)
            case a.Filter() | a.Join(kind="inner"):
                return self._inner(relation)
            case a.Project(source, columns):
                found = None if self._variables else bounded(relation)
                if found is not None:
                    return self.node(in_order(found))
                return projected(self.graph, self.node(source), columns)
            case a.Join(left, right, kind, condition):
                return join(self.graph, self._side(left), self._side(right), kind, condition)
            case a.Aggregate(source, keys, aggregates):
                return self._aggregate(source, keys, aggregates)
            case a.Distinct(source):
                return distinct(self.graph, self.node(source))
            case a.Union(sources):
                return summed(self.graph, [self.node(source) for source in sources])
            case a.Minus(left, right):
                there = summed(self.graph, [self.node(left), negated(self.graph, self.node(right))])
                schema = self.graph.schemas[there]
                only = n.Threshold(own_function(_not_below_zero, "except all"))
                return add(self.graph, n.Reduce(there, schema.names, only, schema))
            case a.Top(source, keys, order, count, offset):
                return self._top(source, keys, order, count, offset)
            case a.Window():
                return self._window(relation)
            case a.Single(source, keys, written):
                return self._single(source, keys, written)
            case a.Series():
                return self._series(relation)
            case a.Explode(source, of, has_position, is_outer):
                node, new = add_exploded(self.graph, self.node(source), of, has_position, is_outer, users_place())
                kinds = relation.types[len(source.types) :]
                made = [Column(name, kind) for name, kind in zip(new, kinds)]
                return projected(self.graph, node, [*a.columns_of(source), *made])
            case a.Variable(name):
                return self._variables[name]
            case a.Loop(name, start, step, is_distinct, most):
                return self._loop(name, start, step, is_distinct, most)
        raise AssertionError(relation)

    def _side(self, relation: Relation) -> Side:
        return Side(self.node(relation), relation)

    def _inner(self, relation: Relation) -> int:
        """A tree of inner joins and filters, put in order first; what is in order already is built as it stands."""
        ordered = joined(relation)
        match ordered:
            case a.Project(source, columns) if ordered != relation:
                return projected(self.graph, self._in_order(source), columns)
        return self._in_order(ordered)

    def _in_order(self, relation: Relation) -> int:
        match relation:
            case a.Filter(source, condition):
                return filtered(self.graph, self._in_order(source), condition)
            case a.Join(left, right, "inner", condition):
                one, two = Side(self._in_order(left), left), Side(self._in_order(right), right)
                return join(self.graph, one, two, "inner", condition)
        return self.node(relation)

    # ---- groups -----------------------------------------------------------------------------

    def _aggregate(
        self, source: Relation, keys: tuple[Expr, ...], aggregates: tuple[tuple[str, Expr | None, Type], ...]
    ) -> int:
        node, names = self.node(source), [f"k{i}" for i in range(len(keys))]
        parts = dict.fromkeys(part for _, of, _ in aggregates for part in _columns_of(of))
        read = {of: f"a{i}" for i, of in enumerate(parts)}
        columns = [*zip(names, keys), *((name, of) for of, name in read.items())]
        given = project(self.graph, node, columns or [("k0", ROWS_ALONE)])
        asked = []
        for i, (op, of, _) in enumerate(aggregates):
            column, by = ([read[part] for part in _columns_of(of)] + [None, None])[:2]
            asked.append(n.Aggregate(op, column, f"r{i}", by))
        fields = [Field(name, key.type) for name, key in zip(names, keys)]
        fields += [Field(f"r{i}", kind) for i, (_, _, kind) in enumerate(aggregates)]
        if not aggregates:
            found = distinct(self.graph, given)
        else:
            found = reduced(self.graph, given, names, asked, Schema(tuple(fields)), users_place())
        found = projected(self.graph, found, [Column(field.name, field.type) for field in fields])
        if keys:
            return found
        return self._always_one(found, aggregates)

    def _always_one(self, found: int, aggregates: tuple[tuple[str, Expr | None, Type], ...]) -> int:
        """The row of an aggregate without keys, and the one for no rows where there is none."""
        empty: tuple[object, ...] = tuple(of_nothing(op) for op, _, _ in aggregates)
        types = tuple(kind for _, _, kind in aggregates)
        if not aggregates:  # the row that others are joined to: a relation without columns carries a constant
            empty, types = (True,), (BOOLEAN,)
        otherwise = values(self.graph, (empty,), types)
        there = projected(self.graph, found, [ROWS_ALONE])
        marked = project(
            self.graph,
            otherwise,
            [*((f"c{i}", Column(f"c{i}", kind)) for i, kind in enumerate(types)), ("k0", ROWS_ALONE)],
        )
        columns = [(f"c{i}", 0, f"c{i}") for i in range(len(types))]
        taken = joined_by(self.graph, (marked, ("k0",)), (there, ("c0",)), columns)
        return summed(self.graph, [found, otherwise, negated(self.graph, taken)])

    # ---- order, loops -----------------------------------------------------------------------

    def _top(
        self,
        source: Relation,
        keys: tuple[Expr, ...],
        order: tuple[tuple[Expr, bool, bool], ...],
        count: int | None,
        offset: int,
    ) -> int:
        node = self.node(source)
        if count is None and not offset:
            return node
        found = self._first(node, source, keys, order, None if count is None else count + offset)
        if not offset:
            return found
        return summed(self.graph, [found, negated(self.graph, self._first(node, source, keys, order, offset))])

    def _first(
        self,
        node: int,
        source: Relation,
        keys: tuple[Expr, ...],
        order: tuple[tuple[Expr, bool, bool], ...],
        count: int | None,
    ) -> int:
        if count is None:
            return node
        if count == 0:
            return filtered(self.graph, node, Literal(False, BOOLEAN))
        names = [f"k{i}" for i in range(len(keys))]
        added: list[tuple[str, Expr]] = list(zip(names, keys))
        by: list[tuple[str, bool]] = []
        for i, (expr, down, nulls_first) in enumerate(order):
            if nulls_first == down:  # nulls come first in rising order by themselves
                added.append((f"n{i}", typed("is_null", (expr,))))
                by.append((f"n{i}", nulls_first))
            added.append((f"o{i}", expr))
            by.append((f"o{i}", down))
        own = [(f"c{i}", column) for i, column in enumerate(a.columns_of(source))]
        given = project(self.graph, node, [*added, *own])
        fields = [Field(name, expr.type) for name, expr in [*added, *own]]
        top = add(self.graph, n.Reduce(given, tuple(names), n.Top(count, tuple(by)), Schema(tuple(fields))))
        return project(self.graph, top, own)

    def _window(self, relation: a.Window) -> int:
        """Aggregates of whole partitions are groups, joined back; everything else is a window of the engine."""
        source, keys, width = relation.source, relation.keys, len(relation.source.types)
        whole = [each for each in relation.functions if each.frame is None and each.op not in PLACES]
        rest = [each for each in relation.functions if each not in whole]
        if whole:
            found = a.Aggregate(source, keys, tuple((each.op, each.of, each.type) for each in whole))
            same = [same_value(key, column) for key, column in zip(keys, a.columns_of(found, width))]
            joined = a.Join(source, found, "inner", conjunction(same))
            behind = a.columns_of(joined)[width + len(keys) :]
            source = a.Project(joined, (*a.columns_of(joined)[:width], *behind))
        node = self.node(source)
        names: list[str] = []
        if rest:
            order = tuple((expr, down, not first) for expr, down, first in relation.order)
            node, names = add_window(self.graph, node, keys, order, rest, users_place())
        at: dict[Asked, Expr] = {each: a.column(width + i, each.type) for i, each in enumerate(whole)}
        at |= {each: Column(name, each.type) for name, each in zip(names, rest)}
        return projected(self.graph, node, [*a.columns_of(relation.source), *(at[each] for each in relation.functions)])

    def _single(self, source: Relation, keys: tuple[Expr, ...], written: str) -> int:
        node = self.node(source)
        names = [f"k{i}" for i in range(len(keys))]
        own = [(f"c{i}", column) for i, column in enumerate(a.columns_of(source))]
        given = project(self.graph, node, [*zip(names, keys), *own])
        values = Schema(tuple(Field(name, column.type) for name, column in own))
        fields = [Field(name, key.type) for name, key in zip(names, keys)]
        alone = n.Own(own_function(_one_row_of(written), "scalar subquery"), "rows", values)
        found = add(self.graph, n.Reduce(given, tuple(names), alone, Schema((*fields, *values.fields))))
        return project(self.graph, found, own)

    def _series(self, relation: a.Series) -> int:
        own = [(f"c{i}", column) for i, column in enumerate(a.columns_of(relation.source))]
        ends = [("start", relation.start), ("end", relation.end)]
        given = project(self.graph, self.node(relation.source), [*own, *ends])
        schema = Schema(tuple(Field(f"c{i}", kind) for i, kind in enumerate(relation.types)))
        made = own_function(values_between(relation.step), "generate_series")
        return add(self.graph, n.Linear(given, n.Apply(made, "flat", schema)))

    def _loop(self, name: str, start: Relation, step: Relation, is_distinct: bool, most: int | None) -> int:
        place = users_place()
        first = self.node(start)
        graph = self.graph
        with graph.loop(most, "return" if most is None else "raise") as loop:
            (entered,) = graph.lift((first,), graph.here, place)
            variable = graph.add(n.Feedback(entered, loop, 0), place)
            graph.names[variable] = name
            self._variables[name] = variable
            following = summed(self.graph, [entered, self.node(step)])
            following = distinct(graph, following) if is_distinct else following
            del self._variables[name]
            bound = graph.bind(variable, following)
            return graph.add(n.Linear(bound, n.Leave(loop)), place)


# ---- functions of rows ----------------------------------------------------------------------


def _not_below_zero(count: int) -> int:
    return max(count, 0)


@cache
def _one_row_of(written: str) -> Callable[[list[tuple[tuple[object, ...], int]]], list[tuple[object, ...]]]:
    """Lets one row through.  The same function for the same text: functions are known by identity."""

    def scalar_subquery(rows: list[tuple[tuple[object, ...], int]]) -> list[tuple[object, ...]]:
        if len(rows) > 1 or rows[0][1] > 1:
            where = f", in {written}" if written else ""
            raise StepRefused(
                f"a subquery that stands for one value has more than one row{where}",
                hint="Choose one: max(...), any_value(...), or order by ... limit 1.",
            )
        return [tuple(row) for row, _ in rows]

    return scalar_subquery


# ---- what a program is given -------------------------------------------------------------------


def unique(names: tuple[str, ...]) -> list[str]:
    """The names of a result; one that comes again gets a number."""
    found: list[str] = []
    for name in names:
        again, number = name, 1
        while again in found:
            number += 1
            again = f"{name}_{number}"
        found.append(again)
    return found


def _columns_of(of: Expr | None) -> tuple[Expr, ...]:
    """What an aggregate reads: nothing, a value, or a value and what it is ordered by."""
    if isinstance(of, Call) and of.op == VALUE_BY:
        return of.args
    return () if of is None else (of,)
