"""Functions that choose among nulls, values and types, and orders.

Rule: each function is one row of the table of operations, or a method of a column.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column, named_or, when
from ebbflow.frontend.functions.calling import Given, of


def coalesce(*columns: Given) -> Column:
    """The first that is not null.

    >>> coalesce("x", lit(0))
    Column<coalesce(x, 0)>
    """
    return of("coalesce", *columns)


def ifnull(column: Given, other: Given) -> Column:
    """The other where this is null.

    >>> ifnull("x", lit(0))
    Column<coalesce(x, 0)>
    """
    return of("coalesce", column, other)


nvl = ifnull


def nvl2(column: Given, there: Given, missing: Given) -> Column:
    """One value where this is not null, another where it is.

    >>> nvl2("x", lit(1), lit(0))
    Column<when(not(is_null(x)), 1, 0)>
    """
    return when(isnotnull(column), named_or(there)).otherwise(named_or(missing))


def nullif(column: Given, other: Given) -> Column:
    """Null where the two are equal.

    >>> nullif("x", lit(0))
    Column<when(eq(x, 0), None, x)>
    """
    return when(named_or(column) == named_or(other), None).otherwise(named_or(column))


def isnotnull(column: Given) -> Column:
    """Whether it is not null.

    >>> isnotnull("x")
    Column<not(is_null(x))>
    """
    return named_or(column).is_not_null()


def equal_null(column: Given, other: Given) -> Column:
    """Equal, where null equals null.

    >>> equal_null("x", "y")
    Column<eq_null_safe(x, y)>
    """
    return of("eq_null_safe", column, other)


def nanvl(column: Given, other: Given) -> Column:
    """The other where this is nan.

    >>> nanvl("x", lit(0.0))
    Column<when(is_nan(x), 0.0, x)>
    """
    return when(isnan(column), named_or(other)).otherwise(named_or(column))


def isnull(column: Given) -> Column:
    """Whether it is null.

    >>> isnull("x")
    Column<is_null(x)>
    """
    return of("is_null", column)


def isnan(column: Given) -> Column:
    """Whether it is nan; false for null.

    >>> isnan("x")
    Column<is_nan(x)>
    """
    return of("is_nan", column)


def greatest(*columns: Given) -> Column:
    """The largest that is not null.

    >>> greatest("x", "y")
    Column<greatest(x, y)>
    """
    return of("greatest", *columns)


def least(*columns: Given) -> Column:
    """The smallest that is not null.

    >>> least("x", "y")
    Column<least(x, y)>
    """
    return of("least", *columns)


def cast(column: Given, kind: object) -> Column:
    """As another type; null where a value has no counterpart.

    >>> cast("x", "double")
    Column<cast(x, double)> as x
    """
    return named_or(column).cast(kind)


def asc(column: Given) -> Column:
    """For order_by: the smallest first.

    >>> asc("x")
    Column<x>
    """
    return named_or(column).asc()


def desc(column: Given) -> Column:
    """For order_by: the largest first.

    >>> desc("x")
    Column<x>
    """
    return named_or(column).desc()


def asc_nulls_first(column: Given) -> Column:
    """For the order of a window: nulls, then the smallest.

    >>> asc_nulls_first("x")
    Column<x>
    """
    return named_or(column).asc_nulls_first()


def asc_nulls_last(column: Given) -> Column:
    """For the order of a window: the smallest first, nulls last.

    >>> asc_nulls_last("x")
    Column<x>
    """
    return named_or(column).asc_nulls_last()


def desc_nulls_first(column: Given) -> Column:
    """For the order of a window: nulls, then the largest.

    >>> desc_nulls_first("x")
    Column<x>
    """
    return named_or(column).desc_nulls_first()


def desc_nulls_last(column: Given) -> Column:
    """For the order of a window: the largest first, nulls last.

    >>> desc_nulls_last("x")
    Column<x>
    """
    return named_or(column).desc_nulls_last()
