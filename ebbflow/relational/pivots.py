"""`pivot` and `unpivot` in a from: values of a column made into columns, and columns into values.

Rule: behind a pivot are the columns that it does not name, which are its groups, then one for each value and aggregate;
a cell without rows is null, also a count, as in Spark.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.columns.schema import LONG, STRING
from ebbflow.expressions.operations import VOID, cast, common_type, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import Asked, aggregated
from ebbflow.relational.algebra import Relation
from ebbflow.relational.conditions import ALWAYS, conjunction, same_value
from ebbflow.relational.expressions import AGGREGATES
from ebbflow.relational.groups import aggregate_of
from ebbflow.relational.operators import alike
from ebbflow.relational.refusals import refused, says_only, unsupported, written
from ebbflow.relational.rows import Bound, Rows, bare

PIVOT_SAYS = {
    "expressions", "fields", "unpivot", "default_on_null", "columns", "identify_pivot_strings", "alias", "group",
    "prefixed_pivot_columns", "pivot_column_naming", "value_columns_first", "include_nulls",
}  # fmt: skip


def pivoted(rows: Rows, pivot: exp.Expression) -> Bound:
    """The rows behind pivot or unpivot."""
    says_only(pivot, PIVOT_SAYS)
    if not pivot.args.get("fields") or not pivot.expressions:
        raise unsupported(pivot, "a pivot of this kind", "pivot (sum(x) for k in ('a', 'b')).")
    return _unpivoted(rows, pivot) if pivot.args.get("unpivot") else _pivoted(rows, pivot)


def _pivoted(rows: Rows, pivot: exp.Expression) -> Bound:
    if len(pivot.args["fields"]) > 1:
        raise unsupported(pivot, "a pivot by several lists of values", "for (a, b) in ((1, 'x'), (2, 'y')).")
    (field,) = pivot.args["fields"]
    by = _listed(field.this)
    width = len(rows.relation.types)
    at = [rows.expr(part) for part in by]
    cells = [_named(choice) for choice in field.expressions]
    conditions: list[Expr] = []
    for choice, _ in cells:
        values = _listed(choice)
        if len(values) != len(by):
            raise refused(
                f"a value of the pivot has {len(values)} parts, and it is by {len(by)}", choice, "Give as many."
            )
        parts: list[Expr] = [_same(mine, rows.expr(value)) for mine, value in zip(at, values)]
        conditions.append(conjunction(parts) or ALWAYS)
    used = {position for expr in at for position in a.positions_in(expr)}
    functions: list[tuple[exp.Expression, str]] = []
    for part in pivot.expressions:
        function = part.this if isinstance(part, exp.Alias) else part
        if type(function) not in AGGREGATES:
            raise refused("a pivot makes one value of each cell by an aggregate", part, "For example sum(x).")
        functions.append((function, part.alias if isinstance(part, exp.Alias) else ""))
        for column in function.find_all(exp.Column):
            used |= a.positions_in(rows.expr(column))
    keys = tuple(a.column(i, rows.relation.types[i]) for i in range(width) if i not in used)
    asked: list[Asked] = []
    names = [column.name for i, column in enumerate(rows.scope.columns) if i not in used]
    marks: list[Asked] = []
    for condition, (_, name) in zip(conditions, cells):
        held = Rows(a.Filter(rows.relation, condition), rows.scope, rows.tables, rows.ask)
        marks.append(Asked("count", (typed("when", (condition, Literal(1, LONG), Literal(None, LONG))),), LONG))
        for function, alias in functions:
            asked.append(_where(aggregate_of(held, function), condition))
            said = alias or written(function).lower()
            names.append(f"{name}_{said}" if len(functions) > 1 else name)
    found = aggregated(rows.relation, keys, [*asked, *marks])
    columns = a.columns_of(found)
    shown: list[Expr] = list(columns[: len(keys)])
    for i, one in enumerate(asked):
        mark = columns[len(keys) + len(asked) + i // len(functions)]
        there = typed("gt", (mark, Literal(0, LONG)))
        shown.append(typed("when", (there, columns[len(keys) + i], Literal(None, one.type))))
    return Bound(a.Project(found, tuple(shown)), tuple(names))


def _where(asked: Asked, condition: Expr) -> Asked:
    """The aggregate over the rows for which the condition is true."""
    if asked.op == "count_rows":
        return Asked("count", (typed("when", (condition, Literal(1, LONG), Literal(None, LONG))),), LONG)
    values = tuple(typed("when", (condition, value, Literal(None, value.type))) for value in asked.of)
    return Asked(asked.op, values, asked.type, asked.is_distinct)


def _same(one: Expr, two: Expr) -> Expr:
    one, two = alike(one, two)
    return same_value(one, two)


def _listed(node: exp.Expression) -> list[exp.Expression]:
    node = bare(node)
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _named(choice: exp.Expression) -> tuple[exp.Expression, str]:
    """A value of the list, and what its columns are called."""
    if isinstance(choice, exp.PivotAlias | exp.Alias):
        return choice.this, choice.args["alias"].name
    values = [part.name if isinstance(part, exp.Literal) else part.sql(dialect="spark") for part in _listed(choice)]
    return choice, "_".join(values)


def _unpivoted(rows: Rows, pivot: exp.Expression) -> Bound:
    if len(pivot.expressions) != 1 or isinstance(pivot.expressions[0], exp.Tuple) or len(pivot.args["fields"]) != 1:
        raise unsupported(pivot, "an unpivot to several values", "unpivot (v for k in (a, b)).")
    (field,) = pivot.args["fields"]
    chosen = [_named(choice) for choice in field.expressions]
    values = [rows.expr(choice) for choice, _ in chosen]
    kind = common_type([value.type for value in values])
    if kind is None or kind == VOID:
        raise refused("the columns of an unpivot have types that do not fit together", pivot, "Cast them first.")
    used = {position for value in values for position in a.positions_in(value)}
    kept = [i for i in range(len(rows.relation.types)) if i not in used]
    parts: list[Relation] = []
    for value, (_, name) in zip(values, chosen):
        columns = [a.column(i, rows.relation.types[i]) for i in kept]
        made = a.Project(rows.relation, (*columns, Literal(name, STRING), cast(value, kind)))
        if not pivot.args.get("include_nulls"):
            there = typed("not", (typed("is_null", (a.column(len(kept) + 1, kind),)),))
            parts.append(a.Filter(made, there))
        else:
            parts.append(made)
    names = (*(rows.scope.columns[i].name for i in kept), field.this.name, pivot.expressions[0].name)
    return Bound(a.Union(tuple(parts)) if len(parts) > 1 else parts[0], names)
