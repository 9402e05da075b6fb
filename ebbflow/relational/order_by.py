"""The end of a query: `distinct`, `order by`, `limit`, `offset`.

Without a limit an order means nothing, since a collection has none; with one it says which rows are there.

Rule: what is ordered by is a column that is selected, or one that is taken along and dropped again.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.expressions.typed import Expr
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.aliases import with_aliases
from ebbflow.relational.expressions import constant
from ebbflow.relational.refusals import refused
from ebbflow.relational.rows import Rows, bare


def in_order(
    rows: Rows, query: exp.Select, names: tuple[str, ...], columns: tuple[Expr, ...], aliases: dict[str, exp.Expression]
) -> Relation:
    """The selected columns, distinct, ordered and cut off as asked for.  Without a limit an order means nothing."""
    distinct = query.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    is_distinct = distinct is not None and on is None
    count, offset = limits(query, rows)
    if count is None and not offset and on is None:
        found: Relation = a.Project(rows.relation, columns)
        return a.Distinct(found) if is_distinct else found
    order = query.args.get("order")
    by: list[tuple[Expr, bool, bool]] = []
    extra: list[Expr] = []
    for part in order.expressions if order is not None else []:
        expr = order_key(rows, query, part.this, names, columns, aliases)
        if expr in columns:
            position = columns.index(expr)
        elif is_distinct:
            raise refused("order by needs a column of select distinct", part, "Select it too.")
        else:
            position = len(columns) + len(extra)
            extra.append(expr)
        down = bool(part.args.get("desc"))
        by.append((a.column(position, expr.type), down, bool(part.args.get("nulls_first", not down))))
    keys = [] if on is None else [order_key(rows, query, key, names, columns, aliases) for key in on.expressions]
    first = len(columns) + len(extra)
    found = a.Project(rows.relation, (*columns, *extra, *keys))
    if is_distinct:
        found = a.Distinct(found)
    if on is not None:  # of each group with these values the row that comes first
        found = a.Top(found, a.columns_of(found)[first:], tuple(by), 1, 0)
    if count is not None or offset:
        found = a.Top(found, (), tuple(by), count, offset)
    return a.Project(found, a.columns_of(found)[: len(columns)]) if extra or keys else found


def order_key(
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
    return rows.expr(with_aliases(key, aliases))


def limits(query: exp.Expression, rows: Rows) -> tuple[int | None, int]:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if isinstance(limit, exp.Fetch):
        count = 1 if limit.args.get("count") is None else constant(limit.args["count"], rows.expr, "fetch")
    elif limit is None or (isinstance(limit.expression, exp.Var) and limit.expression.name.upper() == "ALL"):
        count = None
    else:
        count = constant(limit.expression, rows.expr, "limit")
    skipped = 0 if offset is None else constant(offset.expression, rows.expr, "offset")
    if (count is not None and count < 0) or skipped < 0:
        raise refused("limit and offset are not below zero", query, "Write a number from 0.")
    return count, skipped
