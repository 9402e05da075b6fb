"""Functions of windows, of a row's place among the others and of the rows around it.

They stand before `.over(window)`.

Rule: each function is one row of the table of window functions.
"""

from __future__ import annotations

import builtins

from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column, named_or, operand
from ebbflow.frontend.functions.calling import Given, collected


def row_number() -> Column:
    """The number of a row in its window, from 1; rows that are alike in the order are told apart by the whole row.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> sales = flow.input("sales", "shop string, price long")
    >>> by_price = ebb.Window.partition_by("shop").order_by("-price")
    >>> flow.output("numbered", sales.with_columns(n=ebb.row_number().over(by_price)))
    >>> flow.compute(sales=[("a", 1), ("a", 2), ("a", 2), ("b", 4)])["numbered"].rows()
    [('a', 1, 3, 1), ('a', 2, 1, 1), ('a', 2, 2, 1), ('b', 4, 1, 1)]
    """
    return Column(w.Placed("row_number"))


def rank() -> Column:
    """One more than the rows before a row in its window; rows that are alike in the order have the same.

    >>> rank()
    Column<rank()>
    """
    return Column(w.Placed("rank"))


def dense_rank() -> Column:
    """As rank, without gaps.

    >>> dense_rank()
    Column<dense_rank()>
    """
    return Column(w.Placed("dense_rank"))


def percent_rank() -> Column:
    """(rank - 1) / (rows of the partition - 1), 0 where there is one row.

    >>> percent_rank()
    Column<percent_rank()>
    """
    return Column(w.Placed("percent_rank"))


def cume_dist() -> Column:
    """The share of the partition's rows that are not behind a row.

    >>> cume_dist()
    Column<cume_dist()>
    """
    return Column(w.Placed("cume_dist"))


def ntile(n: int) -> Column:
    """Which of n tiles a row is in; the rows are dealt in order, the first tiles have one more where they do not fit.

    >>> ntile(4)
    Column<ntile(4)>
    """
    return Column(w.Placed("ntile", number=_whole(n, "ntile", 1)))


def lag(column: Given, offset: int = 1, default: object = None, ignore_nulls: bool = False) -> Column:
    """The value so many rows before; `default` where there is no such row.

    >>> lag("x")
    Column<lead(x, -1)>
    """
    return lead(column, -_whole(offset, "lag"), default, ignore_nulls)


def lead(column: Given, offset: int = 1, default: object = None, ignore_nulls: bool = False) -> Column:
    """The value so many rows behind; `default` where there is no such row.

    >>> lead("x", 2, 0)
    Column<lead(x, 2, 0)>
    """
    stands = None if default is None else operand(default)
    return Column(w.Placed("lead", named_or(column).tree, _whole(offset, "lead"), stands, ignore_nulls))


def first_value(column: Given, ignoreNulls: bool = False, order_by: object = None) -> Column:
    """The value of the first row of the frame, or the first that is not null.  Also `first`.

    In `agg` the value of a group's first row by `order_by`; without an order the least value.

    >>> first_value("x")
    Column<first_value(x)>
    """
    if order_by is not None:
        return collected("first_not_null" if ignoreNulls else "first", column, order_by)
    return Column(w.Placed("first_value", named_or(column).tree, skips_nulls=ignoreNulls))


def last_value(column: Given, ignoreNulls: bool = False, order_by: object = None) -> Column:
    """The value of the last row of the frame, or the last that is not null.  Also `last`.

    In `agg` the value of a group's last row by `order_by`; without an order the largest value.

    >>> last_value("x")
    Column<last_value(x)>
    """
    if order_by is not None:
        return collected("last_not_null" if ignoreNulls else "last", column, order_by)
    return Column(w.Placed("last_value", named_or(column).tree, skips_nulls=ignoreNulls))


def nth_value(column: Given, offset: int, ignoreNulls: bool = False) -> Column:
    """The value of the nth row of the frame, from 1; null where it has fewer.

    >>> nth_value("x", 2)
    Column<nth_value(x, 2)>
    """
    return Column(w.Placed("nth_value", named_or(column).tree, _whole(offset, "nth_value", 1), skips_nulls=ignoreNulls))


first, last = first_value, last_value


def _whole(number: object, verb: str, least: int | None = None) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or builtins.abs(number) >= 1 << 31:
        raise NotAnExpression(f"{verb} takes a whole number; got {number!r}.", hint=f"For example {verb}(..., 2).")
    if least is not None and number < least:
        raise NotAnExpression(f"{verb} counts from {least}; got {number}.", hint=f"Give {least} or more.")
    return number
