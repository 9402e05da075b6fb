"""Functions of angles, and hyperbolic ones.

Rule: each function is one row of the table of operations, on doubles; nan where the mathematics has no value.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
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


toDegrees = degrees
toRadians = radians
