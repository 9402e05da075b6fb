"""Numbers and days in a row, as a table: `range(5)`, `generate_series(1, 5)`, `generate_series(1, t.n)`.

Rule: `range` leaves the end out, as in Spark, and `generate_series` has it; ends may be of the rows before it in from.
"""

from __future__ import annotations

import datetime

from sqlglot import exp

from ebbflow.columns.schema import DATE, LONG, TIMESTAMP
from ebbflow.expressions.calendar_functions import MICROS, MONTHS
from ebbflow.expressions.operations import VOID, cast, evaluate, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.intervals import interval_parts
from ebbflow.relational.refusals import refused, unsupported
from ebbflow.relational.rows import Ask, Bound, Rows, Tables
from ebbflow.relational.scope import Scope
from ebbflow.relational.stepping import MOST_VALUES, between

ONE_DAY = a.Step(micros=MICROS["day"])


def is_series(node: exp.Expression) -> bool:
    is_range = isinstance(node, exp.Anonymous) and node.name.lower() == "range"
    return is_range or isinstance(node, exp.GenerateSeries | exp.GenerateDateArray)


def series_of(node: exp.Expression, called: str, tables: Tables, around: Scope | None, ask: Ask) -> Bound:
    """The table of a series.  called: the name of the table, which is its column's; around: what its ends can name."""
    rows = Rows(a.ONE, Scope([], around), tables, ask)
    if isinstance(node, exp.Anonymous):
        start, end, step = _range(node)
        name, is_whole = "id", False
    else:
        start, end, step = (node.args.get(part) for part in ("start", "end", "step"))
        name, is_whole = called or "generate_series", True
    first, last = rows.expr(start), rows.expr(end)
    by = _step(rows, step, first, node)
    if first.type.is_integer and last.type.is_integer and by.number:
        one = Literal(1 if by.is_up else -1, LONG)
        first, last = cast(first, LONG), cast(last, LONG)
        last = last if is_whole else typed("sub", (last, one))
    elif first.type in (DATE, TIMESTAMP) and last.type in (DATE, TIMESTAMP) and is_whole and not by.number:
        kind = DATE if first.type == last.type == DATE and not by.micros % MICROS["day"] else TIMESTAMP
        first, last = cast(first, kind), cast(last, kind)
    elif VOID in (first.type, last.type):
        return Bound(a.Values((), (LONG,)), (name,))
    else:
        raise refused("a series goes from a number to a number, or from a day to a day", node, "Cast its ends.")
    if rows.relation == a.ONE and not (a.outer_in(first) or a.outer_in(last)):
        return Bound(_listed(first, last, by, node), (name,))
    found = a.Series(rows.relation, first, last, by)
    return Bound(a.Project(found, a.columns_of(found)[-1:]), (name,))


def _range(node: exp.Expression) -> tuple[exp.Expression, exp.Expression, exp.Expression | None]:
    """range(end), range(start, end), range(start, end, step)."""
    given = list(node.expressions)
    if not 1 <= len(given) <= 3:
        raise refused(f"range takes 1 to 3 numbers, and is given {len(given)}", node, "range(start, end, step)")
    if len(given) == 1:
        return exp.Literal.number(0), given[0], None
    return given[0], given[1], given[2] if len(given) == 3 else None


def _step(rows: Rows, step: exp.Expression | None, start: Expr, node: exp.Expression) -> a.Step:
    if step is None:
        return a.Step(number=1) if start.type.is_integer or start.type == VOID else ONE_DAY
    if isinstance(step, exp.Interval):
        found = _length(step, rows)
    else:
        value = rows.expr(step)
        value = Literal(evaluate(value, {}), LONG) if not (a.positions_in(value) or a.outer_in(value)) else value
        if not isinstance(value, Literal) or not isinstance(value.value, int) or not value.type.is_integer:
            raise refused("the step of a series is a number or an interval in the text", node, "For example 1.")
        found = a.Step(number=value.value)
    if not found.is_some:
        raise refused("the step of a series is 0", node, "Write another.")
    return found


def _length(step: exp.Expression, rows: Rows) -> a.Step:
    months = micros = 0
    for amount, unit in interval_parts(step, rows.expr):
        if not isinstance(amount, Literal) or not isinstance(amount.value, int):
            raise unsupported(step, "this interval as a step", "Write its length: interval 1 day.")
        months += amount.value * MONTHS.get(unit, 0)
        micros += amount.value * MICROS.get(unit, 0)
    return a.Step(months=months, micros=micros)


def _listed(first: Expr, last: Expr, step: a.Step, node: exp.Expression) -> a.Values:
    """A series whose ends are in the text."""
    found: list[tuple[object, ...]] = []
    start, end = (evaluate(side, {}) for side in (first, last))
    for value in between(start, end, step):
        if len(found) >= MOST_VALUES:
            raise refused(
                f"a series in a query has at most {MOST_VALUES:,} rows, and this one has more", node, "Use an input."
            )
        is_moment = isinstance(value, datetime.datetime) and value.tzinfo is not None
        found.append((value.replace(tzinfo=None) if is_moment else value,))  # type: ignore[union-attr]
    return a.Values(tuple(found), (first.type,))
