"""Queries, as sqlglot reads them, made into relations.

sqlglot parses the text; what names mean, which rows a subquery belongs to and what an aggregate is of is decided here.
A query is bound in the order in which it is computed: from, where, group by, having, select, distinct, order by, limit.

Rule: what comes out reads no column of a query around it, and has the columns and names that the text asks for.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from ebbflow.columns.schema import LONG, STRING
from ebbflow.expressions.operations import VOID, cast, evaluate, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.aliases import name_of, spelled_out, with_aliases
from ebbflow.relational.conditions import conjunction, same_value
from ebbflow.relational.expressions import unified
from ebbflow.relational.groups import grouped, parts_of, unaliased
from ebbflow.relational.nested import with_generators
from ebbflow.relational.order_by import in_order, limits, order_key
from ebbflow.relational.refusals import refused, says_only, unsupported
from ebbflow.relational.rows import Bound, Rows, Tables
from ebbflow.relational.scope import Scope, lookup, named
from ebbflow.relational.sources import rows_of
from ebbflow.relational.stars import star_of, starred
from ebbflow.relational.time_windows import with_time_windows
from ebbflow.relational.traversal import why_not_linear
from ebbflow.relational.windows import add_windows

SET_OPERATIONS = (exp.Union, exp.Except, exp.Intersect)
SELECT_SAYS = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_",
    "hint", "qualify", "windows", "laterals",
}  # fmt: skip
SET_SAYS = {"this", "expression", "distinct", "order", "limit", "offset", "with_"}


def query_of(node: exp.Expression, tables: Tables, around: Scope | None) -> Bound:
    """A whole query: select, values, a set operation, with its `with`."""
    node = _opened(node)
    tables = _with(node, tables, around)
    if isinstance(node, exp.Select):
        return _select(node, tables, around)
    if isinstance(node, exp.Values):
        return _values(node, tables, around)
    if isinstance(node, SET_OPERATIONS):
        return _set_operation(node, tables, around)
    if isinstance(node, exp.Table):
        return _select(exp.select("*").from_(node), tables, around)
    if isinstance(node, exp.Subquery):  # (select ...) order by ... limit ...
        return _select(_around(node), tables, around)
    raise unsupported(node, "this kind of statement", "A query begins with select, with, values, table or from.")


def _around(node: exp.Expression) -> exp.Select:
    """select * from (query), with the order and the limit behind the brackets."""
    outside = {name: node.args[name] for name in ("order", "limit", "offset") if node.args.get(name) is not None}
    inside = node.copy()
    for name in (*outside, "with_"):
        inside.set(name, None)
    found = exp.select("*").from_(inside)
    for name, value in outside.items():
        found.set(name, value.copy())
    return found


def _opened(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Subquery | exp.Paren) and not any(
        node.args.get(name) for name in ("with_", "order", "limit", "offset", "joins")
    ):
        node = node.this
    return node


def _with(node: exp.Expression, tables: Tables, around: Scope | None) -> Tables:
    clause = node.args.get("with_")
    if clause is None:
        return tables
    tables = dict(tables)
    for cte in clause.expressions:
        name = cte.alias
        query = _opened(cte.this)
        _check_order(name, query, clause.expressions, tables)
        reads_itself = _reads(query, name)
        if clause.args.get("recursive") and reads_itself:
            found = _recursive(cte, query, tables, around)
        else:
            found = query_of(query, tables, around)
        renamed = [column.name for column in cte.args["alias"].args.get("columns") or []]
        tables[name.lower()] = Bound(found.relation, (*renamed, *found.names[len(renamed) :]), found.nulls)
    return tables


def _check_order(name: str, query: exp.Expression, ctes: list[exp.Expression], tables: Tables) -> None:
    """Refuse a common table that reads one written behind it."""
    names = [cte.alias.lower() for cte in ctes]
    later = names[names.index(name.lower()) + 1 :]
    for table in query.find_all(exp.Table):
        if table.name.lower() in later and table.name.lower() not in tables:
            raise refused(
                f'"{name}" reads "{table.name}", which comes later in with', table,
                "Put it first; tables that read each other are a loop of collections: flow.iterate(lambda a, b: ...).",
            )  # fmt: skip


def _recursive(cte: exp.Expression, query: exp.Expression, tables: Tables, around: Scope | None) -> Bound:
    name = cte.alias
    if not isinstance(query, exp.Union):
        raise refused(
            f'the recursive table "{name}" is not a union of its start and its step', query,
            "Write: with recursive t as (select ... union select ... from t ...).",
        )  # fmt: skip
    query = _start_first(query, name)
    start = query_of(query.this, tables, around)
    renamed = [column.name for column in cte.args["alias"].args.get("columns") or []]
    names = (*renamed, *start.names[len(renamed) :])
    types = tuple(LONG if kind.is_integer else kind for kind in start.relation.types)
    first = a.as_types(start.relation, types)
    variable = a.Variable(f"{name}#{id(cte)}", types)
    inside = {**tables, name.lower(): Bound(variable, names)}
    step = query_of(query.expression, inside, around)
    if len(step.names) != len(names):
        raise refused(
            f'the step of "{name}" has {len(step.names)} columns, its start {len(names)}',
            query.expression,
            "Select as many.",
        )
    if not query.args.get("distinct"):
        problem = why_not_linear(step.relation, variable)
        if problem is not None:
            raise refused(f'the step of "{name}" (union all) {problem}', query.expression, "Use union.")
    following = a.as_types(step.relation, types)
    return Bound(a.Loop(variable.name, first, following, bool(query.args.get("distinct"))), names)


def _start_first(query: exp.Expression, name: str) -> exp.Expression:
    """start union (all steps): `start union step union step` is read from the left."""
    parts, distinct = [query.expression], query.args.get("distinct")
    first = query.this
    while _reads(first, name):
        inside = _opened(first)
        if not isinstance(inside, exp.Union):
            raise refused(
                f'the start of the recursive table "{name}" reads the table itself', first, "Start without it."
            )
        if inside.args.get("distinct") != distinct:
            raise refused(
                f'the recursive table "{name}" has union beside union all', query, "Use one of the two throughout."
            )
        parts.insert(0, inside.expression)
        first = inside.this
    if len(parts) == 1:
        return query
    steps = reduce(lambda one, two: exp.Union(this=one, expression=two, distinct=False), [p.copy() for p in parts])
    return exp.Union(this=first.copy(), expression=steps, distinct=distinct)


def _reads(node: exp.Expression, name: str) -> bool:
    return any(table.name.lower() == name.lower() for table in node.find_all(exp.Table))


def _values(node: exp.Expression, tables: Tables, around: Scope | None) -> Bound:
    found: list[list[Expr]] = []
    sources: list[Relation] = []
    for row in node.expressions:
        rows = Rows(a.ONE, Scope([], around), tables, query_of)
        found.append([rows.expr(part) for part in parts_of(row)])
        sources.append(rows.relation)
    if len({len(row) for row in found}) > 1:
        raise refused("the rows of values have different numbers of columns", node, "Give each row as many.")
    types = []
    for i, kind in enumerate(unified([[value.type for value in row] for row in found])):
        if kind is None:
            raise refused(f"column {i + 1} of values has values of different types", node, "Cast them.")
        types.append(kind if kind != VOID else LONG)
    columns = [tuple(cast(value, kind) for value, kind in zip(row, types)) for row in found]
    names = tuple(f"col{i + 1}" for i in range(len(types)))
    if all(isinstance(value, Literal) for row in found for value in row):
        cast_rows = tuple(tuple(evaluate(one, {}) for one in row) for row in columns)
        return Bound(a.Values(cast_rows, tuple(types)), names)
    computed = tuple(a.Project(source, row) for source, row in zip(sources, columns))
    return Bound(a.Union(computed) if len(computed) > 1 else computed[0], names)


def _select(query: exp.Select, tables: Tables, around: Scope | None) -> Bound:
    says_only(query, SELECT_SAYS)
    if not query.expressions:
        raise refused("select names no column", query, "Name columns, or write select *.")
    rows = rows_of(query, tables, around, query_of)
    query = with_time_windows(rows, query)
    aliases = {part.alias.lower(): part.this for part in query.expressions if isinstance(part, exp.Alias)}
    aliases = {name: node for name, node in aliases.items() if not rows.scope.found(name)}
    query = spelled_out(query, aliases)
    aliases = {part.alias.lower(): part.this for part in query.expressions if part.alias.lower() in aliases}
    rows.later = tuple(aliases)
    if query.args.get("where") is not None:
        rows.keep(query.args["where"].this)
    query = with_generators(rows, query)
    rows = grouped(rows, query, aliases)
    if query.args.get("having") is not None:
        rows.keep(with_aliases(query.args["having"].this, aliases))
    _compute_windows(rows, query, aliases)
    shown: list[tuple[str, Expr]] = []
    for i, part in enumerate(query.expressions):
        shown += _shown(rows, part, i, aliases)
    names = tuple(name for name, _ in shown)
    columns = tuple(cast(expr, LONG) if expr.type == VOID else expr for _, expr in shown)
    nulls = frozenset(i for i, (_, expr) in enumerate(shown) if expr.type == VOID)
    return Bound(in_order(rows, query, names, columns, aliases), names, nulls)


def _compute_windows(rows: Rows, query: exp.Select, aliases: dict[str, exp.Expression]) -> None:
    qualify, order = query.args.get("qualify"), query.args.get("order")
    condition = None if qualify is None else with_aliases(qualify.this, aliases)
    parts = [*query.expressions, *([] if condition is None else [condition])]
    parts += [with_aliases(part, aliases) for part in (order.expressions if order is not None else [])]
    add_windows(rows, parts, query)
    if condition is not None:
        rows.keep(condition)


def _shown(rows: Rows, part: exp.Expression, at: int, aliases: dict[str, exp.Expression]) -> list[tuple[str, Expr]]:
    """The columns that one part of select stands for."""
    if star_of(part) is not None:
        table = "" if isinstance(part, exp.Star) else part.args["table"].name
        known = rows.scope.shown(table)
        if not known:
            fields = _fields(rows, part)
            if fields:
                return fields
            raise refused(
                f'there is no table "{table}"' if table else "there is nothing for * to stand for",
                part,
                "Name columns.",
            )
        return starred(rows, star_of(part), known)
    return [(name_of(part), rows.expr(unaliased(part)))]


def _fields(rows: Rows, part: exp.Expression) -> list[tuple[str, Expr]]:
    """What `struct.*`, or `table.struct.*`, stands for; nothing where there is no such column."""
    if isinstance(part, exp.Star) or any(part.this.args.values()):
        return []
    name, table = part.args["table"].name, part.args.get("db")
    known, _ = lookup(rows.scope, name, table.name if table is not None else "")
    if len(known) != 1 or known[0].type.name != "struct":
        return []
    whole = rows.expr(exp.column(name, table=table.name if table is not None else None))
    return [(field, typed("get_field", (whole, Literal(field, STRING)))) for field, _ in known[0].type.parts]


def _set_operation(node: exp.Expression, tables: Tables, around: Scope | None) -> Bound:
    says_only(node, SET_SAYS)
    left, right = query_of(node.this, tables, around), query_of(node.expression, tables, around)
    if len(left.names) != len(right.names):
        raise refused(
            f"the two sides of {node.key} have {len(left.names)} and {len(right.names)} columns",
            node,
            "Select as many.",
        )
    types = []
    for name, kind in zip(left.names, unified([left.types, right.types])):
        if kind is None:
            raise refused(f'the two sides of {node.key} have different types in "{name}"', node, "Cast one.")
        types.append(LONG if kind == VOID else kind)
    one, two = left.as_types(tuple(types)), right.as_types(tuple(types))
    is_distinct = node.args.get("distinct") is not False
    found: Relation
    if isinstance(node, exp.Union):
        found = a.Distinct(a.Union((one, two))) if is_distinct else a.Union((one, two))
    elif is_distinct:
        pairs = zip(a.columns_of(one), a.columns_of(two, len(types)))
        kind_ = "semi" if isinstance(node, exp.Intersect) else "anti"
        found = a.Join(a.Distinct(one), two, kind_, conjunction([same_value(x, y) for x, y in pairs]))
    elif isinstance(node, exp.Intersect):
        found = a.Minus(one, a.Minus(one, two))
    else:
        found = a.Minus(one, two)
    rows = Rows(found, Scope(named("", left.names, tuple(types)), around), tables, query_of)
    count, offset = limits(node, rows)
    if count is None and not offset:
        return Bound(found, left.names, left.nulls & right.nulls)
    by = []
    columns = a.columns_of(found)
    order = node.args.get("order")
    for part in order.expressions if order is not None else []:
        expr = order_key(rows, exp.select(), part.this, left.names, columns, {})
        down = bool(part.args.get("desc"))
        by.append((expr, down, bool(part.args.get("nulls_first", not down))))
    return Bound(a.Top(found, (), tuple(by), count, offset), left.names, left.nulls & right.nulls)
