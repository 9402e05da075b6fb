"""Functions of dates and timestamps: their fields, and days added and counted.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of


def year(column: Given) -> Column:
    """The year.

    >>> year("at")
    Column<year(at)>
    """
    return of("year", column)


def month(column: Given) -> Column:
    """1 to 12.

    >>> month("at")
    Column<month(at)>
    """
    return of("month", column)


def day(column: Given) -> Column:
    """The day of the month.

    >>> day("at")
    Column<day(at)>
    """
    return of("day", column)


dayofmonth = day


def hour(column: Given) -> Column:
    """0 to 23; 0 for a date.

    >>> hour("at")
    Column<hour(at)>
    """
    return of("hour", column)


def minute(column: Given) -> Column:
    """0 to 59.

    >>> minute("at")
    Column<minute(at)>
    """
    return of("minute", column)


def second(column: Given) -> Column:
    """0 to 59.

    >>> second("at")
    Column<second(at)>
    """
    return of("second", column)


def weekday(column: Given) -> Column:
    """0 is Monday, 6 is Sunday.

    >>> weekday("at")
    Column<weekday(at)>
    """
    return of("weekday", column)


def date_add(column: Given, days: Given) -> Column:
    """So many days later.

    >>> date_add("day", 7)
    Column<date_add(day, 7)>
    """
    return of("date_add", column, days)


dateadd = date_add


def date_sub(column: Given, days: Given) -> Column:
    """So many days earlier.

    >>> date_sub("day", 7)
    Column<date_add(day, neg(7))>
    """
    return of("date_add", column, of("neg", days))


def date_diff(end: Given, start: Given) -> Column:
    """Days from start to end.

    >>> date_diff("end", "start")
    Column<date_diff(end, start)>
    """
    return of("date_diff", end, start)


datediff = date_diff
