"""Numbers and days in a row, as a table: `range(5)`, `generate_series(1, 5)`.

Rule: its ends are in the text; `range` leaves the end out, as in Spark, and `generate_series` has it.
"""

from __future__ import annotations

import datetime

from sqlglot import exp

from ebbflow.columns.schema import DATE, LONG, TIMESTAMP, Type
from ebbflow.expressions.calendar_functions import MICROS, MONTHS
from ebbflow.expressions.operations import evaluate
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.functions import interval_parts
from ebbflow.relational.refusals import refused, unsupported
from ebbflow.relational.rows import Bound, Rows
from ebbflow.relational.scope import Scope

MOST_ROWS = 1_000_000


def series_of(node: exp.Expression, called: str) -> Bound | None:
    """A table of this function; None for another function.  called: the name of the table, which is its column's."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "range":
        return _made(node, _range(node), "id")
    if isinstance(node, exp.GenerateSeries | exp.GenerateDateArray):
        given = [node.args.get(name) for name in ("start", "end", "step")]
        return _made(node, [part for part in given if part is not None], called or "generate_series", whole=True)
    return None


def _range(node: exp.Expression) -> list[exp.Expression]:
    """range(end), range(start, end), range(start, end, step)."""
    given = list(node.expressions)
    if not 1 <= len(given) <= 3:
        raise refused(f"range takes 1 to 3 numbers, and is given {len(given)}", node, "range(start, end, step)")
    return [exp.Literal.number(0), *given] if len(given) == 1 else given


def _made(node: exp.Expression, given: list[exp.Expression], name: str, whole: bool = False) -> Bound:
    if any(part.find(exp.Column, exp.Query) for part in given):
        raise unsupported(
            node, "a series whose ends are not in the text",
            "Take a longer one and keep a part: from range(1000) r join t on r.id < t.n.",
        )  # fmt: skip
    values = [_value(part, node) for part in given]
    start, end, step = (*values, None) if len(values) == 2 else values
    if any(value is None for value in values):
        return Bound(a.Values((), (LONG,)), (name,))
    if isinstance(start, int) and isinstance(end, int):
        step = 1 if step is None else step
        if not isinstance(step, int) or step == 0:
            raise refused("the step of a series of numbers is a whole number, and not 0", node, "For example 1.")
        numbers = range(start, end + (0 if not whole else 1 if step > 0 else -1), step)
        _check(len(numbers), node)
        return Bound(a.Values(tuple((number,) for number in numbers), (LONG,)), (name,))
    if isinstance(start, datetime.date) and isinstance(end, type(start)) and whole:
        return _moments(node, start, end, step, name)
    raise refused("a series goes from a number to a number, or from a day to a day", node, "Cast its ends.")


def _moments(node: exp.Expression, start: datetime.date, end: datetime.date, step: object, name: str) -> Bound:
    step = step if step is not None else _Step(0, datetime.timedelta(days=1))
    if not isinstance(step, _Step) or not step.is_some:
        raise refused("the step of a series of days is an interval", node, "For example interval 1 day.")
    kind: Type = TIMESTAMP if isinstance(start, datetime.datetime) else DATE
    found: list[tuple[object, ...]] = []
    number, at = 0, start
    while (at <= end) if step.is_up else (at >= end):
        found.append((at,))
        number += 1
        _check(number, node)
        at = step.times(number, start)
    return Bound(a.Values(tuple(found), (kind,)), (name,))


def _check(many: int, node: exp.Expression) -> None:
    if many > MOST_ROWS:
        raise refused(
            f"a series in a query has at most {MOST_ROWS:,} rows, and this one has more", node, "Use an input."
        )


class _Step:
    """A length of time: months, and days and seconds."""

    def __init__(self, months: int, rest: datetime.timedelta):
        self.months, self.rest = months, rest

    @property
    def is_some(self) -> bool:
        return bool(self.months or self.rest)

    @property
    def is_up(self) -> bool:
        return self.months > 0 or self.rest > datetime.timedelta(0)

    def times(self, number: int, start: datetime.date) -> datetime.date:
        """The start, so many steps later; the last day of a month that has no such day."""
        months = start.year * 12 + start.month - 1 + self.months * number
        year, month = divmod(months, 12)
        following = datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1)
        last = (following - datetime.timedelta(days=1)).day
        return start.replace(year=year, month=month + 1, day=min(start.day, last)) + self.rest * number


def _value(part: exp.Expression, node: exp.Expression) -> object:
    if isinstance(part, exp.Interval):
        return _step_of(part)
    found: Expr = Rows(a.ONE, Scope(), {}, _no_subqueries).expr(part)
    return found.value if isinstance(found, Literal) else evaluate(found, {})


def _step_of(node: exp.Expression) -> _Step:
    months, micros = 0, 0
    for amount, unit in interval_parts(node, lambda part: Rows(a.ONE, Scope(), {}, _no_subqueries).expr(part)):
        if not isinstance(amount, Literal) or not isinstance(amount.value, int):
            raise unsupported(node, "this interval as a step")
        if unit in MONTHS:
            months += amount.value * MONTHS[unit]
        else:
            micros += amount.value * MICROS[unit]
    return _Step(months, datetime.timedelta(microseconds=micros))


def _no_subqueries(node: exp.Expression, tables: object, around: object) -> Bound:
    raise unsupported(node, "a subquery in the ends of a series")
