"""From relations to the nodes of a program's graph.

Every relation becomes nodes that the engine keeps up to date: a join by its equal keys, an aggregate by its group, a
subquery (already a join) by the columns it reads.  Equal relations are built once.

Rule: a relation's node has its columns under their positions, `c0`, `c1`, ..., so that its expressions can be used as
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from ebbflow.columns.schema import BOOLEAN, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import of_nothing
from ebbflow.dataflow.exploding import add_exploded
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.windows import PLACES, Asked, add_window
from ebbflow.errors import StepRefused, users_place
from ebbflow.expressions.operations import cast, common_type, typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.frontend.building.collecting import null_safe, reduced
from ebbflow.frontend.building.shaping import distinct, negated, own_function, project
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import VALUE_BY
from ebbflow.relational.algebra import Relation
from ebbflow.relational.bounds import bounded, in_order
from ebbflow.relational.ordering import joined
from ebbflow.relational.stepping import values_between

Keys = list[tuple[Expr, Expr]]


class Builder:
    """Builds relations in one graph; what was built is remembered, and the variables of loops that are open."""

    def __init__(self, graph: Graph, constant: Callable[[Schema, tuple[tuple[object, ...], ...]], int]):
        self.graph, self._constant = graph, constant
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
                return self._project(number, [Column(name, kind) for name, kind in zip(names, types)])
            case a.Values(rows, types):
                return self._values(rows, types)
            case a.Filter() | a.Join(kind="inner"):
                return self._inner(relation)
            case a.Project(source, columns):
                found = None if self._variables else bounded(relation)
                return self._project(self.node(source), columns) if found is None else self.node(in_order(found))
            case a.Join(left, right, kind, condition):
                return self._join(left, right, kind, condition)
            case a.Aggregate(source, keys, aggregates):
                return self._aggregate(source, keys, aggregates)
            case a.Distinct(source):
                return distinct(self.graph, self.node(source))
            case a.Union(sources):
                return self._sum([self.node(source) for source in sources])
            case a.Minus(left, right):
                there = self._sum([self.node(left), negated(self.graph, self.node(right))])
                schema = self.graph.schemas[there]
                only = n.Threshold(own_function(_not_below_zero, "except all"))
                return self._add(n.Reduce(there, schema.names, only, schema))
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
                return self._project(node, [*a.columns_of(source), *made])
            case a.Variable(name):
                return self._variables[name]
            case a.Loop(name, start, step, is_distinct, most):
                return self._loop(name, start, step, is_distinct, most)
        raise AssertionError(relation)

    # ---- small pieces -----------------------------------------------------------------------

    def _add(self, node: n.Node) -> int:
        return self.graph.add(node, users_place())

    def _project(self, node: int, columns: Sequence[Expr]) -> int:
        if not columns:  # a relation without columns still has rows: they carry a constant
            columns = (Literal(True, BOOLEAN),)
        return project(self.graph, node, [(f"c{i}", expr) for i, expr in enumerate(columns)])

    def _sum(self, nodes: list[int]) -> int:
        (*lifted,) = self.graph.together(tuple(nodes), users_place())
        return self._add(n.Concat(tuple(lifted))) if len(lifted) > 1 else lifted[0]

    def _values(self, rows: tuple[tuple[object, ...], ...], types: tuple[Type, ...]) -> int:
        if not types:
            rows, types = tuple((True,) for _ in rows), (BOOLEAN,)
        return self._constant(Schema(tuple(Field(f"c{i}", kind) for i, kind in enumerate(types))), rows)

    def _filter(self, node: int, condition: Expr | None) -> int:
        return node if condition is None else self._add(n.Linear(node, n.Filter(condition)))

    # ---- joins ------------------------------------------------------------------------------

    def _inner(self, relation: Relation) -> int:
        """A tree of inner joins and filters, put in order first; what is in order already is built as it stands."""
        ordered = joined(relation)
        match ordered:
            case a.Project(source, columns) if ordered != relation:
                return self._project(self._ordered(source), columns)
        return self._ordered(ordered)

    def _ordered(self, relation: Relation) -> int:
        match relation:
            case a.Filter(source, condition):
                return self._filter(self._ordered(source) if _is_inner(source) else self.node(source), condition)
            case a.Join(left, right, "inner", condition):
                one = self._ordered(left) if _is_inner(left) else self.node(left)
                two = self._ordered(right) if _is_inner(right) else self.node(right)
                keys, rest = keys_of(condition, len(left.types))
                return self._filter(self._pairs(one, two, left, right, keys), a.conjunction(rest))
        return self.node(relation)

    def _pairs(self, one: int, two: int, left: Relation, right: Relation, keys: Keys) -> int:
        """All columns of both, of rows with equal keys."""
        mine, left_key = self._keyed(one, left, [key for key, _ in keys])
        theirs, right_key = self._keyed(two, right, [key for _, key in keys])
        mine, theirs = self.graph.together((mine, theirs), users_place())
        columns = [(f"c{i}", 0, f"c{i}") for i in range(len(left.types))]
        columns += [(f"c{len(left.types) + i}", 1, f"c{i}") for i in range(len(right.types))]
        if not columns:
            columns = [("c0", 0, "c0")]
        return self._add(
            n.Join(self._add(n.Arrange(mine, left_key)), self._add(n.Arrange(theirs, right_key)), tuple(columns))
        )

    def _keyed(self, node: int, relation: Relation, keys: list[Expr]) -> tuple[int, tuple[str, ...]]:
        """The node with each key as a column, and their names."""
        names: list[str] = []
        added: list[tuple[str, Expr]] = []
        for i, key in enumerate(keys):
            if isinstance(key, Column) and key.name not in names:
                names.append(key.name)
            else:
                names.append(f"k{i}")
                added.append((f"k{i}", key))
        own = [(field.name, Column(field.name, field.type)) for field in self.graph.schemas[node]]
        return project(self.graph, node, [*own, *added]), tuple(names)

    def _join(self, left: Relation, right: Relation, kind: str, condition: Expr | None) -> int:
        one, two = self.node(left), self.node(right)
        keys, rest = keys_of(condition, len(left.types))
        residual = a.conjunction(rest)
        if kind in ("semi", "anti"):
            there = self._matched(one, two, left, right, keys, residual)
            return there if kind == "semi" else self._sum([one, negated(self.graph, there)])
        parts = [self._filter(self._pairs(one, two, left, right, keys), residual)]
        width = len(left.types)
        if kind in ("left", "full"):
            alone = self._sum([one, negated(self.graph, self._matched(one, two, left, right, keys, residual))])
            nulls = [Literal(None, t) for t in right.types]
            parts.append(self._project(alone, [*a.columns_of(left), *nulls]))
        if kind in ("right", "full"):
            turned = None if residual is None else _turned(residual, width, len(right.types))
            back = [(theirs, mine) for mine, theirs in keys]
            matched = self._matched(two, one, right, left, back, turned)
            alone = self._sum([two, negated(self.graph, matched)])
            nulls = [Literal(None, t) for t in left.types]
            parts.append(self._project(alone, [*nulls, *a.columns_of(right)]))
        return self._sum(parts)

    def _matched(self, one: int, two: int, left: Relation, right: Relation, keys: Keys, residual: Expr | None) -> int:
        """The rows of the left that have a partner, as often as they are there."""
        if residual is None:
            known = self._project_named(two, [(f"k{i}", key) for i, (_, key) in enumerate(keys)])
            known = distinct(self.graph, known)
            return self._only_left(one, left, [key for key, _ in keys], known)
        mine = distinct(self.graph, one)
        pairs = self._filter(self._pairs(mine, two, left, right, keys), residual)
        found = distinct(self.graph, self._project(pairs, a.columns_of(left)))
        both = [part for column in a.columns_of(left) for part in null_safe(column)]
        named = self._project_named(found, [(f"k{i}", part) for i, part in enumerate(both)])
        return self._only_left(one, left, both, named)

    def _project_named(self, node: int, columns: list[tuple[str, Expr]]) -> int:
        return project(self.graph, node, columns or [("k0", Literal(True, BOOLEAN))])

    def _only_left(self, one: int, left: Relation, keys: list[Expr], known: int) -> int:
        """The left rows whose keys are known, where each is known once."""
        mine, names = self._keyed(one, left, keys)
        mine, known = self.graph.together((mine, known), users_place())
        theirs = tuple(field.name for field in self.graph.schemas[known])[: len(keys)]
        columns = tuple((f"c{i}", 0, f"c{i}") for i in range(max(len(left.types), 1)))
        return self._add(n.Join(self._add(n.Arrange(mine, names)), self._add(n.Arrange(known, theirs)), columns))

    # ---- groups -----------------------------------------------------------------------------

    def _aggregate(
        self, source: Relation, keys: tuple[Expr, ...], aggregates: tuple[tuple[str, Expr | None, Type], ...]
    ) -> int:
        node, names = self.node(source), [f"k{i}" for i in range(len(keys))]
        parts = dict.fromkeys(part for _, of, _ in aggregates for part in _columns_of(of))
        read = {of: f"a{i}" for i, of in enumerate(parts)}
        columns = [*zip(names, keys), *((name, of) for of, name in read.items())]
        given = self._project_named(node, columns)
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
        found = self._project(found, [Column(field.name, field.type) for field in fields])
        if keys:
            return found
        return self._always_one(found, aggregates)

    def _always_one(self, found: int, aggregates: tuple[tuple[str, Expr | None, Type], ...]) -> int:
        """The row of an aggregate without keys, and the one for no rows where there is none."""
        empty: tuple[object, ...] = tuple(of_nothing(op) for op, _, _ in aggregates)
        types = tuple(kind for _, _, kind in aggregates)
        if not aggregates:  # the row that others are joined to: a relation without columns carries a constant
            empty, types = (True,), (BOOLEAN,)
        otherwise = self._values((empty,), types)
        there = self._project(found, [Literal(True, BOOLEAN)])
        marked = project(
            self.graph,
            otherwise,
            [*((f"c{i}", Column(f"c{i}", kind)) for i, kind in enumerate(types)), ("k0", Literal(True, BOOLEAN))],
        )
        mine, known = self.graph.together((marked, there), users_place())
        columns = tuple((f"c{i}", 0, f"c{i}") for i in range(len(types)))
        taken = self._add(n.Join(self._add(n.Arrange(mine, ("k0",))), self._add(n.Arrange(known, ("c0",))), columns))
        return self._sum([found, otherwise, negated(self.graph, taken)])

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
        return self._sum([found, negated(self.graph, self._first(node, source, keys, order, offset))])

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
            return self._filter(node, Literal(False, BOOLEAN))
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
        top = self._add(n.Reduce(given, tuple(names), n.Top(count, tuple(by)), Schema(tuple(fields))))
        return project(self.graph, top, own)

    def _window(self, relation: a.Window) -> int:
        """Aggregates of whole partitions are groups, joined back; everything else is a window of the engine."""
        source, keys, width = relation.source, relation.keys, len(relation.source.types)
        whole = [each for each in relation.functions if each.frame is None and each.op not in PLACES]
        rest = [each for each in relation.functions if each not in whole]
        if whole:
            found = a.Aggregate(source, keys, tuple((each.op, each.of, each.type) for each in whole))
            same = [a.same(key, column) for key, column in zip(keys, a.columns_of(found, width))]
            joined = a.Join(source, found, "inner", a.conjunction(same))
            behind = a.columns_of(joined)[width + len(keys) :]
            source = a.Project(joined, (*a.columns_of(joined)[:width], *behind))
        node = self.node(source)
        names: list[str] = []
        if rest:
            order = tuple((expr, down, not first) for expr, down, first in relation.order)
            node, names = add_window(self.graph, node, keys, order, rest, users_place())
        at: dict[Asked, Expr] = {each: a.column(width + i, each.type) for i, each in enumerate(whole)}
        at |= {each: Column(name, each.type) for name, each in zip(names, rest)}
        return self._project(node, [*a.columns_of(relation.source), *(at[each] for each in relation.functions)])

    def _single(self, source: Relation, keys: tuple[Expr, ...], written: str) -> int:
        node = self.node(source)
        names = [f"k{i}" for i in range(len(keys))]
        own = [(f"c{i}", column) for i, column in enumerate(a.columns_of(source))]
        given = project(self.graph, node, [*zip(names, keys), *own])
        values = Schema(tuple(Field(name, column.type) for name, column in own))
        fields = [Field(name, key.type) for name, key in zip(names, keys)]
        alone = n.Own(own_function(_one_row_of(written), "scalar subquery"), "rows", values)
        found = self._add(n.Reduce(given, tuple(names), alone, Schema((*fields, *values.fields))))
        return project(self.graph, found, own)

    def _series(self, relation: a.Series) -> int:
        own = [(f"c{i}", column) for i, column in enumerate(a.columns_of(relation.source))]
        ends = [("start", relation.start), ("end", relation.end)]
        given = project(self.graph, self.node(relation.source), [*own, *ends])
        schema = Schema(tuple(Field(f"c{i}", kind) for i, kind in enumerate(relation.types)))
        made = own_function(values_between(relation.step), "generate_series")
        return self._add(n.Linear(given, n.Apply(made, "flat", schema)))

    def _loop(self, name: str, start: Relation, step: Relation, is_distinct: bool, most: int | None) -> int:
        place = users_place()
        first = self.node(start)
        graph = self.graph
        with graph.loop(most, "return" if most is None else "raise") as loop:
            (entered,) = graph.lift((first,), graph.here, place)
            variable = graph.add(n.Feedback(entered, loop, 0), place)
            graph.names[variable] = name
            self._variables[name] = variable
            following = self._sum([entered, self.node(step)])
            following = distinct(graph, following) if is_distinct else following
            del self._variables[name]
            bound = graph.bind(variable, following)
            return graph.add(n.Linear(bound, n.Leave(loop)), place)


# ---- conditions -----------------------------------------------------------------------------


def _is_inner(relation: Relation) -> bool:
    return isinstance(relation, a.Filter) or (isinstance(relation, a.Join) and relation.kind == "inner")


def keys_of(condition: Expr | None, width: int) -> tuple[Keys, list[Expr]]:
    """The equalities between the two sides of a join, each as (left key, right key), and what else it asks for."""
    keys: Keys = []
    rest: list[Expr] = []
    for part in a.conjuncts(condition):
        sides = _sides(part, width)
        if sides is None:
            rest.append(part)
        elif isinstance(part, Call) and part.op == "eq":
            keys.append(sides)
        else:
            keys += zip(null_safe(sides[0]), null_safe(sides[1]))
    return keys, rest


def _sides(part: Expr, width: int) -> tuple[Expr, Expr] | None:
    if not isinstance(part, Call) or part.op not in ("eq", "eq_null_safe"):
        return None
    one, two = part.args
    if one.type != two.type:  # as the comparison does; keys are equal only if their types are
        both = common_type([one.type, two.type])
        if both is None:
            return None
        one, two = (side if side.type == both else cast(side, both) for side in (one, two))
    if _is_within(one, 0, width) and _is_within(two, width, None):
        return one, a.shifted(two, -width)
    if _is_within(two, 0, width) and _is_within(one, width, None):
        return two, a.shifted(one, -width)
    return None


def _is_within(expr: Expr, start: int, end: int | None) -> bool:
    found = a.positions_in(expr)
    return bool(found) and min(found) >= start and (end is None or max(found) < end)


def _turned(condition: Expr, left: int, right: int) -> Expr:
    """A condition over (left, right) as one over (right, left)."""

    def change(read: Column) -> Expr:
        position = a.position_of(read.name)
        assert position is not None
        return a.column(position + right if position < left else position - left, read.type)

    return a.rewritten(condition, change)


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


def constant(graph: Graph, schema: Schema, rows: tuple[tuple[object, ...], ...]) -> int:
    """Rows that are there from the first time on: an input that the session feeds itself."""
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input) and node.schema == schema and node.rows == rows:
            return number
    taken = sum(isinstance(node, n.Input) and node.rows is not None for node in graph.nodes)
    return graph.add(n.Input(f"constant {taken + 1}", schema, (), rows), users_place())


def _columns_of(of: Expr | None) -> tuple[Expr, ...]:
    """What an aggregate reads: nothing, a value, or a value and what it is ordered by."""
    if isinstance(of, Call) and of.op == VALUE_BY:
        return of.args
    return () if of is None else (of,)
