"""Functions of numbers and of their bits.

Where a function takes a column, a plain string is the column's name; a number is itself.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

import math

from ebbflow.frontend.building.column import Column, lit, named_or
from ebbflow.frontend.functions.calling import Given, of


def acos(column: Given) -> Column:
    """Arc cosine; nan beyond -1 and 1.

    >>> acos("x")
    Column<acos(x)>
    """
    return of("acos", column)


def asin(column: Given) -> Column:
    """Arc sine; nan beyond -1 and 1.

    >>> asin("x")
    Column<asin(x)>
    """
    return of("asin", column)


def atan(column: Given) -> Column:
    """Arc tangent.

    >>> atan("x")
    Column<atan(x)>
    """
    return of("atan", column)


def atan2(column: Given, other: Given) -> Column:
    """The angle of the point (other, column).

    >>> atan2("x", "y")
    Column<atan2(x, y)>
    """
    return of("atan2", column, other)


def cosh(column: Given) -> Column:
    """Hyperbolic cosine.

    >>> cosh("x")
    Column<cosh(x)>
    """
    return of("cosh", column)


def sinh(column: Given) -> Column:
    """Hyperbolic sine.

    >>> sinh("x")
    Column<sinh(x)>
    """
    return of("sinh", column)


def tanh(column: Given) -> Column:
    """Hyperbolic tangent.

    >>> tanh("x")
    Column<tanh(x)>
    """
    return of("tanh", column)


def acosh(column: Given) -> Column:
    """Inverse hyperbolic cosine.

    >>> acosh("x")
    Column<acosh(x)>
    """
    return of("acosh", column)


def asinh(column: Given) -> Column:
    """Inverse hyperbolic sine.

    >>> asinh("x")
    Column<asinh(x)>
    """
    return of("asinh", column)


def atanh(column: Given) -> Column:
    """Inverse hyperbolic tangent.

    >>> atanh("x")
    Column<atanh(x)>
    """
    return of("atanh", column)


def cot(column: Given) -> Column:
    """Cotangent.

    >>> cot("x")
    Column<cot(x)>
    """
    return of("cot", column)


def sec(column: Given) -> Column:
    """Secant.

    >>> sec("x")
    Column<sec(x)>
    """
    return of("sec", column)


def csc(column: Given) -> Column:
    """Cosecant.

    >>> csc("x")
    Column<csc(x)>
    """
    return of("csc", column)


def degrees(column: Given) -> Column:
    """An angle in degrees.

    >>> degrees("x")
    Column<degrees(x)>
    """
    return of("degrees", column)


def radians(column: Given) -> Column:
    """An angle in radians.

    >>> radians("x")
    Column<radians(x)>
    """
    return of("radians", column)


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


def bin(column: Given) -> Column:
    """The bits of a whole number as text.

    >>> bin("x")
    Column<bin(x)>
    """
    return of("bin", column)


def bit_count(column: Given) -> Column:
    """How many bits are set.

    >>> bit_count("x")
    Column<bit_count(x)>
    """
    return of("bit_count", column)


def getbit(column: Given, at: Given) -> Column:
    """A bit, 0 or 1; the last has the number 0.

    >>> getbit("x", 0)
    Column<getbit(x, 0)>
    """
    return of("getbit", column, at)


def bitwise_not(column: Given) -> Column:
    """All bits turned round.

    >>> bitwise_not("x")
    Column<bitwise_not(x)>
    """
    return of("bitwise_not", column)


def shiftleft(column: Given, by: Given) -> Column:
    """Bits moved up, in the width of its type.

    >>> shiftleft("x", 3)
    Column<shiftleft(x, 3)>
    """
    return of("shiftleft", column, by)


def shiftright(column: Given, by: Given) -> Column:
    """Bits moved down; the sign stays.

    >>> shiftright("x", 3)
    Column<shiftright(x, 3)>
    """
    return of("shiftright", column, by)


def shiftrightunsigned(column: Given, by: Given) -> Column:
    """Bits moved down, zeros behind them.

    >>> shiftrightunsigned("x", 3)
    Column<shiftrightunsigned(x, 3)>
    """
    return of("shiftrightunsigned", column, by)


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


bit_get = getbit
bitwiseNOT = bitwise_not
shiftLeft = shiftleft
shiftRight = shiftright
shiftRightUnsigned = shiftrightunsigned
toDegrees = degrees
toRadians = radians


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
