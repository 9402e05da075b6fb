"""Aggregates that look at the values of a group in order: quantiles, the mode, the value where another is largest.

Rule: each function is one row of the table of aggregates.
"""

from __future__ import annotations

from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of_group


def median(column: Given) -> Column:
    """The value in the middle, a double; between two of them their mean.

    >>> median("x")
    Column<percentile(0.5)(x)>
    """
    return of_group("percentile(0.5)", column)


def percentile(column: Given, percentage: float) -> Column:
    """The value at a part of the way from the least to the largest, exact, a double: `percentile("x", 0.9)`.

    >>> percentile("x", 0.9)
    Column<percentile(0.9)(x)>
    """
    return of_group(f"percentile({_part('percentile', percentage)})", column)


def percentile_approx(column: Given, percentage: float, accuracy: int = 10000) -> Column:
    """The least value that so large a part of the values does not exceed; exact, whatever accuracy is asked for.

    >>> percentile_approx("x", 0.9)
    Column<percentile_disc(0.9)(x)>
    """
    return of_group(f"percentile_disc({_part('percentile_approx', percentage)})", column)


def _part(name: str, given: object) -> float:
    if isinstance(given, Column) and isinstance(given.tree, w.Constant):
        given = given.tree.value
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise NotAnExpression(
            f"{name} takes a part of the way as a plain number from 0 to 1; got {given!r}.",
            hint=f'For example {name}("x", 0.9); several are several columns.',
        )
    return float(given)


def mode(column: Given) -> Column:
    """The most frequent value; of several the least, so that the answer is always the same.

    >>> mode("x")
    Column<mode(x)>
    """
    return of_group("mode", column)


def product(column: Given) -> Column:
    """The product of the values, a double.

    >>> product("x")
    Column<product(x)>
    """
    return of_group("product", column)


def bit_and(column: Given) -> Column:
    """The bits that all values have.

    >>> bit_and("x")
    Column<bit_and(x)>
    """
    return of_group("bit_and", column)


def bit_or(column: Given) -> Column:
    """The bits that any value has.

    >>> bit_or("x")
    Column<bit_or(x)>
    """
    return of_group("bit_or", column)


def bit_xor(column: Given) -> Column:
    """The bits that an odd number of values has.

    >>> bit_xor("x")
    Column<bit_xor(x)>
    """
    return of_group("bit_xor", column)


def max_by(column: Given, order: Given) -> Column:
    """The value in the row where another is largest; of several rows the least value.

    >>> max_by("name", "price")
    Column<max_by(name, price)>
    """
    return of_group("max_by", column, order)


def min_by(column: Given, order: Given) -> Column:
    """The value in the row where another is least; of several rows the least value.

    >>> min_by("name", "price")
    Column<min_by(name, price)>
    """
    return of_group("min_by", column, order)


approx_percentile = percentile_approx
