"""Queries, as sqlglot reads them, made into relations.

sqlglot parses the text; what names mean, which rows a subquery belongs to and what an aggregate is of is decided here.
A query is bound in the order in which it is computed: from, where, group by, having, select, distinct, order by, limit.

Rule: what comes out reads no column of a query around it, and has the columns and names that the text asks for.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.columns.schema import LONG
from ebbflow.expressions.operations import VOID, cast, evaluate
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.expressions import constant, unified
from ebbflow.relational.groups import grouped, parts_of, unaliased
from ebbflow.relational.nested import with_generators
from ebbflow.relational.refusals import refused, says_only, unsupported
from ebbflow.relational.rows import Bound, Rows, Tables, bare
from ebbflow.relational.scope import Scope, named, read
from ebbflow.relational.sources import rows_of
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
        return _values(node, tables)
    if isinstance(node, SET_OPERATIONS):
        return _set_operation(node, tables, around)
    if isinstance(node, exp.Table):
        return _select(exp.select("*").from_(node), tables, around)
    raise unsupported(node, "this kind of statement")


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
        reads_itself = any(table.name.lower() == name.lower() for table in query.find_all(exp.Table))
        if clause.args.get("recursive") and reads_itself:
            found = _recursive(cte, query, tables, around)
        else:
            found = query_of(query, tables, around)
        renamed = [column.name for column in cte.args["alias"].args.get("columns") or []]
        tables[name.lower()] = Bound(found.relation, (*renamed, *found.names[len(renamed) :]), found.nulls)
    return tables


def _recursive(cte: exp.Expression, query: exp.Expression, tables: Tables, around: Scope | None) -> Bound:
    name = cte.alias
    if not isinstance(query, exp.Union):
        raise refused(
            f'the recursive table "{name}" is not a union of its start and its step', query,
            "Write: with recursive t as (select ... union select ... from t ...).",
        )  # fmt: skip
    if any(table.name.lower() == name.lower() for table in query.this.find_all(exp.Table)):
        raise refused(
            f'the start of the recursive table "{name}" reads the table itself', query.this, "Start without it."
        )
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
        problem = a.why_not_linear(step.relation, variable)
        if problem is not None:
            raise refused(f'the step of "{name}" (union all) {problem}', query.expression, "Use union.")
    following = a.as_types(step.relation, types)
    return Bound(a.Loop(variable.name, first, following, bool(query.args.get("distinct"))), names)


def _values(node: exp.Expression, tables: Tables) -> Bound:
    found: list[list[Expr]] = []
    sources: list[Relation] = []
    for row in node.expressions:
        rows = Rows(a.ONE, Scope(), tables, query_of)
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
    rows = rows_of(query, tables, around, query_of)
    aliases = {part.alias.lower(): part.this for part in query.expressions if isinstance(part, exp.Alias)}
    aliases = {name: node for name, node in aliases.items() if not rows.scope.found(name)}
    if query.args.get("where") is not None:
        rows.keep(query.args["where"].this)
    query = with_generators(rows, query)
    rows = grouped(rows, query, aliases)
    if query.args.get("having") is not None:
        rows.keep(_with_aliases(query.args["having"].this, aliases))
    _compute_windows(rows, query, aliases)
    shown: list[tuple[str, Expr]] = []
    for i, part in enumerate(query.expressions):
        shown += _shown(rows, part, i, aliases)
    names = tuple(name for name, _ in shown)
    columns = tuple(cast(expr, LONG) if expr.type == VOID else expr for _, expr in shown)
    nulls = frozenset(i for i, (_, expr) in enumerate(shown) if expr.type == VOID)
    return Bound(_ordered(rows, query, names, columns, aliases), names, nulls)


def _compute_windows(rows: Rows, query: exp.Select, aliases: dict[str, exp.Expression]) -> None:
    qualify, order = query.args.get("qualify"), query.args.get("order")
    condition = None if qualify is None else _with_aliases(qualify.this, aliases)
    parts = [*query.expressions, *([] if condition is None else [condition])]
    parts += [_with_aliases(part, aliases) for part in (order.expressions if order is not None else [])]
    add_windows(rows, parts, query)
    if condition is not None:
        rows.keep(condition)


def _with_aliases(node: exp.Expression, aliases: dict[str, exp.Expression]) -> exp.Expression:
    def change(part: exp.Expression) -> exp.Expression:
        if isinstance(part, exp.Column) and part.args.get("table") is None and part.name.lower() in aliases:
            return exp.Paren(this=aliases[part.name.lower()].copy())
        return part

    return node.transform(change)


def _shown(rows: Rows, part: exp.Expression, at: int, aliases: dict[str, exp.Expression]) -> list[tuple[str, Expr]]:
    """The columns that one part of select stands for."""
    is_star = isinstance(part, exp.Star)
    if is_star or (isinstance(part, exp.Column) and isinstance(part.this, exp.Star)):
        table = "" if is_star else part.args["table"].name
        known = rows.scope.shown(table)
        if not known:
            raise refused(
                f'there is no table "{table}"' if table else "there is nothing for * to stand for",
                part,
                "Name columns.",
            )
        if rows.grouped is not None:
            return [(one.name, rows.expr(exp.column(one.name, table=one.table or None))) for one in known]
        return [(one.name, read(one, 0)) for one in known]
    node = unaliased(part)
    name = part.alias if isinstance(part, exp.Alias) else node.name if isinstance(node, exp.Column) else ""
    return [(name or node.sql(dialect="spark").lower(), rows.expr(node))]


def _ordered(
    rows: Rows, query: exp.Select, names: tuple[str, ...], columns: tuple[Expr, ...], aliases: dict[str, exp.Expression]
) -> Relation:
    """The selected columns, distinct, ordered and cut off as asked for.  Without a limit an order means nothing."""
    is_distinct = query.args.get("distinct") is not None
    if is_distinct and query.args["distinct"].args.get("on") is not None:
        raise unsupported(query.args["distinct"], "distinct on")
    count, offset = _limits(query, rows)
    if count is None and not offset:
        found: Relation = a.Project(rows.relation, columns)
        return a.Distinct(found) if is_distinct else found
    order = query.args.get("order")
    by: list[tuple[Expr, bool, bool]] = []
    extra: list[Expr] = []
    for part in order.expressions if order is not None else []:
        expr = _order_key(rows, query, part.this, names, columns, aliases)
        if expr in columns:
            position = columns.index(expr)
        elif is_distinct:
            raise refused("order by needs a column of select distinct", part, "Select it too.")
        else:
            position = len(columns) + len(extra)
            extra.append(expr)
        down = bool(part.args.get("desc"))
        by.append((a.column(position, expr.type), down, bool(part.args.get("nulls_first", not down))))
    found = a.Project(rows.relation, (*columns, *extra))
    if is_distinct:
        found = a.Distinct(found)
    found = a.Top(found, (), tuple(by), count, offset)
    return a.Project(found, a.columns_of(found)[: len(columns)]) if extra else found


def _order_key(
    rows: Rows, query: exp.Select, key: exp.Expression, names: tuple[str, ...], columns: tuple[Expr, ...],
    aliases: dict[str, exp.Expression],
) -> Expr:  # fmt: skip
    key = bare(key)
    if isinstance(key, exp.Literal) and not key.args.get("is_string") and key.this.isdigit():
        number = int(key.this)
        if not 1 <= number <= len(columns):
            raise refused(f"there is no column {number} in select, which has {len(columns)}", key, "Count from 1.")
        return columns[number - 1]
    if isinstance(key, exp.Column) and key.args.get("table") is None:
        lowered = [name.lower() for name in names]
        if lowered.count(key.name.lower()) == 1:
            return columns[lowered.index(key.name.lower())]
    return rows.expr(_with_aliases(key, aliases))


def _limits(query: exp.Expression, rows: Rows) -> tuple[int | None, int]:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is not None and not isinstance(limit, exp.Limit):
        raise unsupported(limit, "fetch")
    count = None if limit is None else constant(limit.expression, rows.expr, "limit")
    skipped = 0 if offset is None else constant(offset.expression, rows.expr, "offset")
    if (count is not None and count < 0) or skipped < 0:
        raise refused("limit and offset are not below zero", query, "Write a number from 0.")
    return count, skipped


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
        found = a.Join(a.Distinct(one), two, kind_, a.conjunction([a.same(x, y) for x, y in pairs]))
    elif isinstance(node, exp.Intersect):
        found = a.Minus(one, a.Minus(one, two))
    else:
        found = a.Minus(one, two)
    rows = Rows(found, Scope(named("", left.names, tuple(types)), around), tables, query_of)
    count, offset = _limits(node, rows)
    if count is None and not offset:
        return Bound(found, left.names, left.nulls & right.nulls)
    by = []
    columns = a.columns_of(found)
    order = node.args.get("order")
    for part in order.expressions if order is not None else []:
        expr = _order_key(rows, exp.select(), part.this, left.names, columns, {})
        down = bool(part.args.get("desc"))
        by.append((expr, down, bool(part.args.get("nulls_first", not down))))
    return Bound(a.Top(found, (), tuple(by), count, offset), left.names, left.nulls & right.nulls)
