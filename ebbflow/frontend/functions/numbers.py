"""Functions of numbers and of their bits.

Where a function takes a column, a plain string is the column's name; a number is itself.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

import math

from ebbflow.frontend.building.column import Column, lit, named_or
from ebbflow.frontend.functions.calling import Given, of


def cbrt(column: Given) -> Column:
    """Cube root.

    >>> cbrt("x")
    Column<cbrt(x)>
    """
    return of("cbrt", column)


def expm1(column: Given) -> Column:
    """E to the power x, less 1.

    >>> expm1("x")
    Column<expm1(x)>
    """
    return of("expm1", column)


def log1p(column: Given) -> Column:
    """The logarithm of x + 1; null at -1 and below.

    >>> log1p("x")
    Column<log1p(x)>
    """
    return of("log1p", column)


def hypot(column: Given, other: Given) -> Column:
    """The square root of the sum of the squares.

    >>> hypot("x", "y")
    Column<hypot(x, y)>
    """
    return of("hypot", column, other)


def rint(column: Given) -> Column:
    """The nearest whole number as a double; halves go to the even one.

    >>> rint("x")
    Column<rint(x)>
    """
    return of("rint", column)


def bround(column: Given, scale: Given = 0) -> Column:
    """Rounded to so many digits; halves go to the even one.

    >>> bround("x")
    Column<bround(x, 0)>
    """
    return of("bround", column, scale)


def factorial(column: Given) -> Column:
    """1 * 2 * ... * n; null below 0 and above 20.

    >>> factorial("x")
    Column<factorial(x)>
    """
    return of("factorial", column)


def width_bucket(column: Given, low: Given, high: Given, parts: Given) -> Column:
    """The number of its part of a range; 0 below it, parts + 1 above.

    >>> width_bucket("x", 0, 10, 5)
    Column<width_bucket(x, 0, 10, 5)>
    """
    return of("width_bucket", column, low, high, parts)


def conv(column: Given, base: Given, to: Given) -> Column:
    """A number in text from one base to another.

    >>> conv("x", 16, 10)
    Column<conv(x, 16, 10)>
    """
    return of("conv", column, base, to)


def pmod(column: Given, by: Given) -> Column:
    """The rest of a division, not below zero.

    >>> pmod("x", 3)
    Column<pmod(x, 3)>
    """
    return of("pmod", column, by)


def zeroifnull(column: Given) -> Column:
    """0 where it is null.

    >>> zeroifnull("x")
    Column<zeroifnull(x)>
    """
    return of("zeroifnull", column)


def nullifzero(column: Given) -> Column:
    """Null where it is 0.

    >>> nullifzero("x")
    Column<nullifzero(x)>
    """
    return of("nullifzero", column)


def try_add(column: Given, other: Given) -> Column:
    """The sum; null where it has no room.

    >>> try_add("x", "y")
    Column<try_add(x, y)>
    """
    return of("try_add", column, other)


def try_subtract(column: Given, other: Given) -> Column:
    """The difference; null where it has no room.

    >>> try_subtract("x", "y")
    Column<try_subtract(x, y)>
    """
    return of("try_subtract", column, other)


def try_multiply(column: Given, other: Given) -> Column:
    """The product; null where it has no room.

    >>> try_multiply("x", "y")
    Column<try_multiply(x, y)>
    """
    return of("try_multiply", column, other)


def try_divide(column: Given, other: Given) -> Column:
    """The quotient; null where it has no value.

    >>> try_divide("x", "y")
    Column<try_divide(x, y)>
    """
    return of("try_divide", column, other)


def try_mod(column: Given, other: Given) -> Column:
    """The rest of a division; null where it has no value.

    >>> try_mod("x", "y")
    Column<try_mod(x, y)>
    """
    return of("try_mod", column, other)


def positive(column: Given) -> Column:
    """As it is.

    >>> positive("x")
    Column<x>
    """
    return Column(named_or(column).tree)


def e() -> Column:
    """Euler's number.

    >>> e()
    Column<2.718281828459045>
    """
    return lit(math.e)


def pi() -> Column:
    """The circumference of a circle over its diameter.

    >>> pi()
    Column<3.141592653589793>
    """
    return lit(math.pi)
