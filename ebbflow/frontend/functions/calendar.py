"""Functions of the calendar: months, weeks and quarters, and the parts of a date.

Units are plain text.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.errors import NotAnExpression
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of, text


def add_months(column: Given, months: Given) -> Column:
    """The same day so many months later, or the last one of that month.

    >>> add_months("x", 1)
    Column<add_months(x, 1)>
    """
    return of("add_months", column, months)


def last_day(column: Given) -> Column:
    """The last day of its month.

    >>> last_day("x")
    Column<last_day(x)>
    """
    return of("last_day", column)


def next_day(column: Given, name: Given) -> Column:
    """The next day that is called so: `next_day("day", "Mon")`.

    >>> next_day("x", "Mon")
    Column<next_day(x, 'Mon')>
    """
    return of("next_day", column, text(name))


def trunc(column: Given, unit: Given) -> Column:
    """The first day of its year, quarter, month or week.

    >>> trunc("x", "month")
    Column<trunc(x, 'month')>
    """
    return of("trunc", column, text(unit))


def date_trunc(unit: Given, column: Given) -> Column:
    """The start of its year, quarter, month, week, day, hour, minute or second.

    >>> date_trunc("month", "x")
    Column<date_trunc('month', x)>
    """
    return of("date_trunc", text(unit), column)


def make_date(year: Given, month: Given, day: Given) -> Column:
    """The date of a year, a month and a day; null where there is none.

    >>> make_date(2024, 2, "x")
    Column<make_date(2024, 2, x)>
    """
    return of("make_date", year, month, day)


def months_between(end: Given, start: Given, rounds: Given = True) -> Column:
    """Months from start to end; whole ones between equal days, else by months of 31 days.

    >>> months_between("b", "a")
    Column<months_between(b, a, True)>
    """
    return of("months_between", end, start, rounds)


def quarter(column: Given) -> Column:
    """1 to 4.

    >>> quarter("x")
    Column<quarter(x)>
    """
    return of("quarter", column)


def dayofweek(column: Given) -> Column:
    """1 is Sunday, 7 is Saturday, as in Spark.

    >>> dayofweek("x")
    Column<dayofweek(x)>
    """
    return of("dayofweek", column)


def dayofyear(column: Given) -> Column:
    """1 to 366.

    >>> dayofyear("x")
    Column<dayofyear(x)>
    """
    return of("dayofyear", column)


def weekofyear(column: Given) -> Column:
    """The week by ISO 8601, 1 to 53.

    >>> weekofyear("x")
    Column<weekofyear(x)>
    """
    return of("weekofyear", column)


def dayname(column: Given) -> Column:
    """Mon, Tue and so on.

    >>> dayname("x")
    Column<dayname(x)>
    """
    return of("dayname", column)


def monthname(column: Given) -> Column:
    """Jan, Feb and so on.

    >>> monthname("x")
    Column<monthname(x)>
    """
    return of("monthname", column)


CALENDAR_PARTS = {
    "year": "year", "month": "month", "day": "day", "hour": "hour", "minute": "minute", "second": "second",
    "quarter": "quarter", "week": "weekofyear", "doy": "dayofyear", "dow": "dayofweek", "yearofweek": "yearofweek",
}  # fmt: skip


def extract(part: Given, column: Given) -> Column:
    """A part of a date or a timestamp: year, quarter, month, week, day, dow, doy, hour, minute or second.

    >>> extract("year", "at")
    Column<year(at)>
    """
    name = text(part).tree
    op = CALENDAR_PARTS.get(str(getattr(name, "text", getattr(name, "value", part))).lower())
    if op is None:
        raise NotAnExpression(
            f"extract takes a part of a date as plain text; got {part!r}.", hint=f"One of: {', '.join(CALENDAR_PARTS)}."
        )
    return of(op, column)


date_part = extract
datepart = extract
