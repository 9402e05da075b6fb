"""Groups of rows: the keys of `group by`, sets of them, and aggregates.

Rule: behind a group by every row is a group; what can be named are its keys and its aggregates, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from ebbflow.columns.schema import BOOLEAN, BYTE, DOUBLE, LONG
from ebbflow.dataflow.aggregates import kind_of, result_type, takes
from ebbflow.expressions.operations import VOID, cast, typed
from ebbflow.expressions.statistics import OF_TWO
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import COMPOSED, Asked, aggregated, by_sets, composed_type, counted, pair, where
from ebbflow.relational.dialect import NamedAggregate
from ebbflow.relational.expressions import AGGREGATES, check_said
from ebbflow.relational.functions import wrong_number
from ebbflow.relational.nested import COLLECTING, collected, is_collecting
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
    has_sets: bool  # behind the aggregates stands which keys a row's set leaves out
    written: dict[exp.Expression, Expr]  # the keys as the query has them

    def lookup(self, rows: Rows, node: exp.Expression) -> Expr | None:
        """The column that holds an expression, if it is a key or an aggregate."""
        if node in self.aggregates:
            at = len(self.keys) + self.aggregates.index(node)
            return a.column(at, rows.relation.types[at])
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self._left_out(node)
        if node in self.written:  # bound once: again, a subquery is another column and a constant none
            at = self.keys.index(self.written[node])
            return a.column(at, rows.relation.types[at])
        apart = (*AGGREGATES, *COLLECTING, exp.Grouping, exp.GroupingId, exp.Query, exp.Window)
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean) or node.find(*apart):
            return None
        found = self.before.expr(node)
        if (key := self._of_key(rows, found)) is not None:
            return key
        if isinstance(node, exp.Column) and not (isinstance(found, Column) and found.name.startswith(a.OUTER)):
            raise refused(
                f'"{node.sql()}" is neither a key of group by nor inside an aggregate', node,
                f"Add it to group by, or say which value: any_value({node.sql()}), min, max.",
            )  # fmt: skip
        return found if isinstance(found, Column) and found.name.startswith(a.OUTER) else None

    def _left_out(self, node: exp.Expression) -> Expr:
        """grouping(key): 1 where a row's set leaves the key out; grouping_id(): those of all keys, a bit each."""
        if not self.has_sets:
            raise refused(f"{node.key} is of keys by sets", node, "Group by rollup (...), cube (...) or grouping sets.")
        bits: Expr = a.column(len(self.keys) + len(self.aggregates), LONG)
        of = [self.before.expr(part) for part in node.expressions]
        if isinstance(node, exp.GroupingId) and of in ([], self.keys):
            return bits
        if isinstance(node, exp.GroupingId) or len(of) != 1 or of[0] not in self.keys:
            raise refused("these are not the keys of group by", node, "grouping(key), or grouping_id() of all of them.")
        place = Literal(1 << (len(self.keys) - 1 - self.keys.index(of[0])), LONG)
        bit = typed("mod", (typed("floordiv", (bits, place)), Literal(2, LONG)))
        return cast(bit, BYTE)

    def _of_key(self, rows: Rows, found: Expr) -> Expr | None:
        """The column of a key, or a field of one."""
        if found in self.keys:
            at = self.keys.index(found)
            return a.column(at, rows.relation.types[at])
        if isinstance(found, Call) and found.op == "get_field":
            whole = self._of_key(rows, found.args[0])
            return None if whole is None else typed("get_field", (whole, found.args[1]))
        return None

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
    keys: list[Expr] = []
    as_written: dict[exp.Expression, Expr] = {}
    for key in written:
        if next(_aggregates_in(key), None) is not None:
            raise refused("a key of group by is an aggregate", key, "Group by columns; aggregate in a query around it.")
        as_written[key] = expr = rows.expr(key)
        if expr not in keys:
            keys.append(expr)
    asked = [aggregate_of(rows, node) for node in aggregates]
    if sets is None:
        relation = aggregated(rows.relation, tuple(keys), asked)
    else:
        positions = [[keys.index(as_written[key]) for key in one] for one in sets]
        relation = by_sets(rows.relation, tuple(keys), positions, asked)
    grouping = Grouping(rows, keys, aggregates, sets is not None, as_written)
    return Rows(relation, rows.scope, rows.tables, rows.ask, grouping)


def _aggregates_in(node: exp.Expression) -> Iterator[exp.Expression]:
    """The aggregates of this query in an expression; those of subqueries are their own."""
    if isinstance(node, exp.Window):  # its function is not of a group, but may be of what is
        yield from _aggregates_under(node)
        return
    if isinstance(node, exp.Filter) and (type(node.this) in AGGREGATES or is_collecting(node.this)):
        yield node
        return
    if type(node) in AGGREGATES or is_collecting(node):
        yield node
        return
    if isinstance(node, exp.Query | exp.Subquery):
        return
    for part in node.iter_expressions():
        yield from _aggregates_in(part)


def _aggregates_under(window: exp.Expression) -> Iterator[exp.Expression]:
    function = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    is_wrapped = isinstance(function, exp.Filter | exp.WithinGroup)
    parts = [*function.this.iter_expressions(), function.expression] if is_wrapped else []
    parts = parts or list(function.iter_expressions())
    for part in [*parts, *(part for part in window.iter_expressions() if part is not window.this)]:
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
    behind = [part for name in ("rollup", "cube", "grouping_sets") for part in group.args.get(name) or []]
    if len(behind) > 1:
        raise unsupported(group, "several sets of keys behind them", "Write group by rollup(a, b), cube(c).")
    parts = [_of_keys(part, group.expressions) for part in behind] or list(group.expressions)
    has_sets = any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) for part in parts)
    alternatives = [_sets_of(part) for part in parts]
    sets: list[list[exp.Expression]] = [[]]
    for choices in alternatives:
        sets = [[*one, *choice] for one in sets for choice in choices]
    named_sets = [[_meant(key, query, aliases) for key in one] for one in sets]
    keys = [_meant(key, query, aliases) for part in group.expressions if behind for key in parts_of(part)]
    keys += [key for one in named_sets for key in one]
    return list(dict.fromkeys(keys)), named_sets if has_sets else None


def _of_keys(part: exp.Expression, keys: list[exp.Expression]) -> exp.Expression:
    """What stands behind the keys: `a, b with rollup` is `rollup(a, b)`; `a, b grouping sets (...)` is those sets."""
    return part if part.expressions else type(part)(expressions=[key.copy() for key in keys])


def _sets_of(part: exp.Expression) -> list[list[exp.Expression]]:
    """The sets of keys that a part of group by stands for: one, unless it is a rollup, a cube or sets."""
    if isinstance(part, exp.Rollup):
        inside = [parts_of(each) for each in part.expressions]
        return [[k for one in inside[:i] for k in one] for i in range(len(inside), -1, -1)]
    if isinstance(part, exp.Cube):
        inside = [parts_of(each) for each in part.expressions]
        return [[k for i, one in enumerate(inside) if m >> i & 1 for k in one] for m in range(1 << len(inside))]
    if isinstance(part, exp.GroupingSets):
        return [one for each in part.expressions for one in _sets_of(each)]
    return [parts_of(part)]


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


def aggregate_of(rows: Rows, node: exp.Expression) -> Asked:
    """An aggregate, with a filter or without, over these rows."""
    condition = None
    if isinstance(node, exp.Filter):
        condition = rows.condition(node.expression.this)
        node = node.this
    if is_collecting(node):
        return collected(rows, node, condition)
    if isinstance(node, NamedAggregate | exp.WithinGroup):
        return _named(rows, node, condition)
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
        values = tuple(where(condition, value) for value in values)
    if len(values) > 1 and op != "count":
        raise refused(f"{op} takes one value", node, "Aggregate each.")
    if isinstance(node, exp.LogicalAnd | exp.LogicalOr) and values[0].type not in (BOOLEAN, VOID):
        raise refused(
            f"{'bool_and' if op == 'min' else 'bool_or'} is of conditions, and this is a {values[0].type}",
            node,
            "Compare it.",
        )
    if op in ("sum", "avg", *COMPOSED) and not (values[0].type.is_number or values[0].type == VOID):
        raise refused(f"{op} adds up numbers, and this is a {values[0].type}", node, "Cast it to a number.")
    values = tuple(cast(value, LONG) if value.type == VOID else value for value in values)
    kind = LONG if op == "count" else DOUBLE if op in COMPOSED else result_type(op, values[0].type)
    if op in ("min", "max", "any_value"):
        is_distinct = False
    if op == "count" and len(values) == 1 and is_distinct:
        return Asked("count_distinct", values, LONG, False)
    if len(values) > 1 and not is_distinct:  # counts rows in which none is null
        values = (counted(values),)
    return Asked(op, values, kind, is_distinct)


SPELT = {"std": "stddev_samp", "approx_count_distinct": "count_distinct", "approx_percentile": "percentile_approx"}
QUANTILES = {
    "percentile": "percentile", "percentile_cont": "percentile", "percentile_approx": "percentile_disc",
    "percentile_disc": "percentile_disc",
}  # fmt: skip


def _named(rows: Rows, node: exp.Expression, condition: Expr | None) -> Asked:
    """An aggregate that comes as it was written."""
    order, down = None, False
    if isinstance(node, exp.WithinGroup):
        ordered = node.expression.expressions
        if not isinstance(node.this, NamedAggregate) or len(ordered) != 1:
            raise unsupported(node, "an aggregate within an order")
        order, down, node = rows.expr(ordered[0].this), bool(ordered[0].args.get("desc")), node.this
    name = SPELT.get(node.name, node.name)
    if any(isinstance(each, exp.Distinct) for each in node.expressions):
        raise unsupported(node, f"{name} of distinct values")
    values = [rows.expr(each) for each in node.expressions]
    values = [cast(value, LONG) if value.type == VOID else value for value in values]
    if order is not None:
        values = [order, *values]
    if name == "median":
        name, values = "percentile", [*values, Literal(0.5, DOUBLE)]
    if name in QUANTILES:
        return _quantile(name, values, down, condition, node)
    many = 2 if name in OF_TWO or name in ("max_by", "min_by") else 1
    if len(values) != many:
        raise wrong_number(name, many, many, len(values), node)
    if condition is not None:
        values = [where(condition, value) for value in values]
    if name in COMPOSED:
        if not all(value.type.is_number for value in values):
            raise refused(f"{name} is of numbers", node, "Cast them to numbers.")
        return Asked(name, tuple(values), composed_type(name))
    if many == 2:
        return Asked(name, (pair(*values),), values[0].type)
    value = cast(values[0], DOUBLE) if kind_of(name).takes == "double" and values[0].type.is_number else values[0]
    if not takes(name, value.type):
        raise refused(f"{name} cannot be of a {value.type}", node, "Cast it.")
    return Asked(name, (value,), result_type(name, value.type))


def _quantile(name: str, values: list[Expr], down: bool, condition: Expr | None, node: exp.Expression) -> Asked:
    """percentile(x, 0.9), percentile_cont(0.9) within group (order by x)."""
    part = values[1] if len(values) > 1 else None
    if not isinstance(part, Literal) or not isinstance(part.value, int | float | Decimal) or not 0 <= part.value <= 1:
        raise refused(
            f"{name} takes a part of the way as a plain number from 0 to 1", node, "Several are several columns."
        )
    op = QUANTILES[name]
    value = cast(values[0], DOUBLE) if op == "percentile" and values[0].type.is_number else values[0]
    if not takes(op, value.type):
        raise refused(f"{name} is of numbers, and this is a {value.type}", node, "percentile_disc takes any type.")
    if condition is not None:
        value = where(condition, value)
    at = 1 - float(part.value) if down else float(part.value)
    return Asked(f"{op}({at})", (value,), result_type(op, value.type))
