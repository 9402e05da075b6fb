"""Groups of rows: the keys of `group by`, sets of them, and aggregates.

Rule: behind a group by every row is a group; what can be named are its keys and its aggregates, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from ebbflow.columns.expression import Column, Expr, Literal
from ebbflow.columns.operations import VOID, cast, typed
from ebbflow.columns.schema import LONG, Type
from ebbflow.frontend.grouping import result_type
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.expressions import AGGREGATES, check_said
from ebbflow.relational.refusals import refused, says_only, unsupported
from ebbflow.relational.rows import Rows, bare
from ebbflow.relational.scope import Known, Scope

GROUP_SAYS = {"expressions", "rollup", "cube", "grouping_sets", "all"}


@dataclass
class Grouping:
    """What the rows behind a `group by` know: the keys and the aggregates, each a column."""

    before: Rows
    keys: list[Expr]
    aggregates: list[exp.Expression]

    def lookup(self, rows: Rows, node: exp.Expression) -> Expr | None:
        """The column that holds an expression, if it is a key or an aggregate."""
        if node in self.aggregates:
            at = len(self.keys) + self.aggregates.index(node)
            return a.column(at, rows.relation.types[at])
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean) or node.find(*AGGREGATES, exp.Query, exp.Window):
            return None
        found = self.before.expr(node)
        if found in self.keys:
            at = self.keys.index(found)
            return a.column(at, rows.relation.types[at])
        if isinstance(node, exp.Column) and not (isinstance(found, Column) and found.name.startswith(a.OUTER)):
            raise refused(
                f'"{node.sql()}" is neither a key of group by nor inside an aggregate', node,
                f"Add it to group by, or say which value: any_value({node.sql()}), min, max.",
            )  # fmt: skip
        return found if isinstance(found, Column) and found.name.startswith(a.OUTER) else None

    def scope_behind(self) -> Scope:
        """What subqueries of grouped rows can name: the keys that are plain columns."""
        known = []
        for column in self.before.scope.columns:
            plain = a.column(column.position, column.type)
            if plain in self.keys:
                known.append(Known(column.table, column.name, self.keys.index(plain), column.type))
        return Scope(known, self.before.scope.around)


def grouped(rows: Rows, query: exp.Select, aliases: dict[str, exp.Expression]) -> Rows:
    """The rows behind group by; `rows` themselves where nothing is grouped."""
    group = query.args.get("group")
    parts = [*query.expressions]
    parts += [query.args[name] for name in ("having", "order", "qualify") if query.args.get(name) is not None]
    aggregates: list[exp.Expression] = []
    for part in parts:
        for found in _aggregates_in(part):
            if found not in aggregates:
                aggregates.append(found)
    if group is None and not aggregates and query.args.get("having") is None:
        return rows
    written, sets = _keys(query, group, aliases)
    keys = []
    for key in written:
        if next(_aggregates_in(key), None) is not None:
            raise refused("a key of group by is an aggregate", key, "Group by columns; aggregate in a query around it.")
        expr = rows.expr(key)
        if expr not in keys:
            keys.append(expr)
    asked = [_aggregate(rows, node) for node in aggregates]
    if sets is None:
        relation = _aggregated(rows.relation, tuple(keys), asked)
    else:
        positions = [[keys.index(rows.expr(key)) for key in one] for one in sets]
        relation = _by_sets(rows.relation, tuple(keys), positions, asked)
    return Rows(relation, rows.scope, rows.tables, rows.ask, Grouping(rows, keys, aggregates))


def _aggregates_in(node: exp.Expression) -> Iterator[exp.Expression]:
    """The aggregates of this query in an expression; those of subqueries are their own."""
    if isinstance(node, exp.Window):
        raise unsupported(node, "a window function")
    if isinstance(node, exp.Filter) and type(node.this) in AGGREGATES:
        yield node
        return
    if type(node) in AGGREGATES:
        yield node
        return
    if isinstance(node, exp.Query | exp.Subquery):
        return
    for part in node.iter_expressions():
        yield from _aggregates_in(part)


def _keys(
    query: exp.Select, group: exp.Expression | None, aliases: dict[str, exp.Expression]
) -> tuple[list[exp.Expression], list[list[exp.Expression]] | None]:
    """The keys as written, and the sets of them where there are several."""
    if group is None:
        return [], None
    says_only(group, GROUP_SAYS)
    if group.args.get("all"):
        plain = [unaliased(part) for part in query.expressions]
        return [part for part in plain if next(_aggregates_in(part), None) is None], None
    alternatives: list[list[list[exp.Expression]]] = []
    has_sets = False
    rollups = [
        *(group.args.get("rollup") or []),
        *(group.args.get("cube") or []),
        *(group.args.get("grouping_sets") or []),
    ]
    for part in [*group.expressions, *rollups]:
        if isinstance(part, exp.Rollup):
            inside = [parts_of(each) for each in part.expressions]
            alternatives.append([[k for one in inside[:i] for k in one] for i in range(len(inside), -1, -1)])
        elif isinstance(part, exp.Cube):
            inside = [parts_of(each) for each in part.expressions]
            alternatives.append(
                [[k for i, one in enumerate(inside) if mask >> i & 1 for k in one] for mask in range(1 << len(inside))]
            )
        elif isinstance(part, exp.GroupingSets):
            alternatives.append([parts_of(each) for each in part.expressions])
        else:
            alternatives.append([[part]])
            continue
        has_sets = True
    sets: list[list[exp.Expression]] = [[]]
    for choices in alternatives:
        sets = [[*one, *choice] for one in sets for choice in choices]
    named_sets = [[_meant(key, query, aliases) for key in one] for one in sets]
    keys = [key for one in named_sets for key in one]
    return list(dict.fromkeys(keys)), named_sets if has_sets else None


def parts_of(node: exp.Expression) -> list[exp.Expression]:
    node = bare(node)
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _meant(key: exp.Expression, query: exp.Select, aliases: dict[str, exp.Expression]) -> exp.Expression:
    """A key of group by or order by: a number is a column of select, a name may be an alias."""
    key = bare(key)
    if isinstance(key, exp.Literal) and not key.args.get("is_string") and key.this.isdigit():
        number = int(key.this)
        if not 1 <= number <= len(query.expressions):
            raise refused(
                f"there is no column {number} in select, which has {len(query.expressions)}", key, "Count from 1."
            )
        return unaliased(query.expressions[number - 1])
    if isinstance(key, exp.Column) and key.args.get("table") is None and key.name.lower() in aliases:
        return aliases[key.name.lower()]
    return key


def unaliased(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Alias) else node


@dataclass(frozen=True)
class Asked:
    """One aggregate: its operation, what it is of, the condition of its filter, and whether of distinct values."""

    op: str
    of: tuple[Expr, ...]
    type: Type
    is_distinct: bool


def _aggregate(rows: Rows, node: exp.Expression) -> Asked:
    condition = None
    if isinstance(node, exp.Filter):
        condition = rows.expr(node.expression.this)
        node = node.this
    check_said(node)
    op, inside = AGGREGATES[type(node)], node.this
    if op == "count" and (inside is None or isinstance(inside, exp.Star)):
        if condition is None:
            return Asked("count_rows", (), LONG, False)
        return Asked("count", (typed("when", (condition, Literal(1, LONG), Literal(None, LONG))),), LONG, False)
    if op == "count_if":
        return Asked("count", (typed("when", (rows.expr(inside), Literal(1, LONG), Literal(None, LONG))),), LONG, False)
    is_distinct = isinstance(inside, exp.Distinct)
    values = tuple(rows.expr(each) for each in (inside.expressions if is_distinct else [inside, *node.expressions]))
    if condition is not None:
        values = tuple(typed("when", (condition, value, Literal(None, value.type))) for value in values)
    if len(values) > 1 and op != "count":
        raise refused(f"{op} takes one value", node, "Aggregate each.")
    if op in ("sum", "avg") and not (values[0].type.is_number or values[0].type == VOID):
        raise refused(f"{op} adds up numbers, and this is a {values[0].type}", node, "Cast it to a number.")
    values = tuple(cast(value, LONG) if value.type == VOID else value for value in values)
    kind = LONG if op == "count" else result_type(op, values[0].type)
    if op in ("min", "max", "any_value"):
        is_distinct = False
    if op == "count" and len(values) == 1 and is_distinct:
        return Asked("count_distinct", values, LONG, False)
    if len(values) > 1 and not is_distinct:  # counts rows in which none is null
        missing = typed("is_null", (values[0],))
        for value in values[1:]:
            missing = typed("or", (missing, typed("is_null", (value,))))
        values = (typed("when", (missing, Literal(None, LONG), Literal(1, LONG))),)
    return Asked(op, values, kind, is_distinct)


def _aggregated(source: Relation, keys: tuple[Expr, ...], asked: list[Asked]) -> Relation:
    """The keys, then the aggregates in order.  Those of distinct values are groups of their own, joined by key."""
    plain = [one for one in asked if not one.is_distinct]
    apart = list(dict.fromkeys(one.of for one in asked if one.is_distinct))
    width = len(keys)
    found: Relation = a.Aggregate(
        source, keys, tuple((one.op, one.of[0] if one.of else None, one.type) for one in plain)
    )
    at = {one: width + plain.index(one) for one in plain}
    for values in apart:
        mine = [one for one in asked if one.is_distinct and one.of == values]
        once: Relation = a.Distinct(a.Project(source, (*keys, *values)))
        there = a.columns_of(once)
        for each in there[width:]:
            once = a.Filter(once, typed("not", (typed("is_null", (each,)),)))
        of = [("count_rows", None, LONG) if one.op == "count" else (one.op, there[width], one.type) for one in mine]
        group = a.Aggregate(once, there[:width], tuple(of))
        before = len(found.types)
        same = [a.same(x, y) for x, y in zip(a.columns_of(found)[:width], a.columns_of(group, before)[:width])]
        found = a.Join(found, group, "left", a.conjunction(same))
        at |= {one: before + width + i for i, one in enumerate(mine)}
    columns = list(a.columns_of(found)[:width])
    shown: list[Expr] = []
    for one in asked:
        value: Expr = a.column(at[one], one.type)
        is_count = one.is_distinct and one.op == "count"
        shown.append(typed("coalesce", (value, Literal(0, LONG))) if is_count else value)
    return a.Project(found, (*columns, *shown))


def _by_sets(source: Relation, keys: tuple[Expr, ...], sets: list[list[int]], asked: list[Asked]) -> Relation:
    """One aggregate for each set of keys, with nulls for the keys that it leaves out."""
    parts: list[Relation] = []
    for chosen in sets:
        chosen = list(dict.fromkeys(chosen))
        found = _aggregated(source, tuple(keys[i] for i in chosen), asked)
        columns: list[Expr] = []
        for i, key in enumerate(keys):
            columns.append(a.column(chosen.index(i), key.type) if i in chosen else Literal(None, key.type))
        columns += a.columns_of(found)[len(chosen) :]
        parts.append(a.Project(found, tuple(columns)))
    return a.Union(tuple(parts)) if len(parts) > 1 else parts[0]
