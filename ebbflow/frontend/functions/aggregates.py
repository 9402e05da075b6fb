"""Aggregates: counts, sums, averages and extremes of the rows of a group.

They stand in `group_by(...).agg(...)`.

Rule: each function is one row of the table of aggregates, or a short composition.
"""

from __future__ import annotations

import builtins

from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column, named_or, when
from ebbflow.frontend.functions.calling import Given, of_group
from ebbflow.frontend.functions.choosing import coalesce


def count(column: Given = "*") -> Column:
    """`count()` counts rows with their multiplicities, `count("x")` those where x is not null.

    >>> count()
    Column<count_rows()>
    """
    if isinstance(column, builtins.str) and column == "*":
        return Column(w.Aggregated("count_rows", None))
    return of_group("count", column)


def sum(column: Given) -> Column:
    """Of the values that are not null; null when there are none.  Sums of floats are exact, then rounded once.

    A sum of decimal(p, s) is a decimal(p + 10, s); one that needs more digits, or more than 38, refuses the step.

    >>> sum("x")
    Column<sum(x)>
    """
    return of_group("sum", column)


def avg(column: Given) -> Column:
    """The mean of the values that are not null, a double; of decimals a decimal with four digits more.

    >>> avg("x")
    Column<avg(x)>
    """
    return of_group("avg", column)


def min(column: Given) -> Column:
    """The least of the values that are not null.

    >>> min("x")
    Column<min(x)>
    """
    return of_group("min", column)


def max(column: Given) -> Column:
    """The largest of the values that are not null.

    >>> max("x")
    Column<max(x)>
    """
    return of_group("max", column)


def any_value(column: Given) -> Column:
    """One of the values: the least, so that the answer is always the same.

    >>> any_value("x")
    Column<any_value(x)>
    """
    return of_group("any_value", column)


def count_distinct(column: Given, *more: Given) -> Column:
    """How many different values, nulls not counted.

    >>> count_distinct("x")
    Column<count_distinct(x)>
    """
    if more:
        raise NotAnExpression(
            "count_distinct takes one column.", hint='Several: c.select("a", "b").distinct().group_by(...).count().'
        )
    return of_group("count_distinct", column)


mean = avg
countDistinct = count_distinct
approx_count_distinct = count_distinct  # exact here
approxCountDistinct = count_distinct


def count_if(condition: Given) -> Column:
    """How many rows for which the condition is true.

    >>> count_if("late")
    Column<coalesce(sum(when(late, 1, None)), 0)>
    """
    return coalesce(sum(when(named_or(condition), 1)), 0)


def bool_and(column: Given) -> Column:
    """Whether it is true in every row; nulls are skipped.

    >>> bool_and("ok")
    Column<min(ok)>
    """
    return min(column)


def bool_or(column: Given) -> Column:
    """Whether it is true in any row; nulls are skipped.

    >>> bool_or("ok")
    Column<max(ok)>
    """
    return max(column)


every = bool_and
some = bool_or
