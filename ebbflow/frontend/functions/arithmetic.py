"""Powers, logarithms, rounding and signs.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of


def abs(column: Given) -> Column:
    """Without its sign.

    >>> abs("x")
    Column<abs(x)>
    """
    return of("abs", column)


def sqrt(column: Given) -> Column:
    """Square root; nan below 0.

    >>> sqrt("x")
    Column<sqrt(x)>
    """
    return of("sqrt", column)


def exp(column: Given) -> Column:
    """E to the power x.

    >>> exp("x")
    Column<exp(x)>
    """
    return of("exp", column)


def ln(column: Given) -> Column:
    """The natural logarithm; null at zero and below.

    >>> ln("x")
    Column<log(x)>
    """
    return of("log", column)


def log(base: Given, column: Given = None) -> Column:
    """The natural logarithm, or with two arguments that of the second to the first as base; null at 0 and below.

    >>> log("x")
    Column<log(x)>
    >>> log(2, "x")
    Column<log_of(2, x)>
    """
    return of("log", base) if column is None else of("log_of", base, column)


def log2(column: Given) -> Column:
    """Logarithm to base 2; null at 0 and below.

    >>> log2("x")
    Column<log2(x)>
    """
    return of("log2", column)


def log10(column: Given) -> Column:
    """Logarithm to base 10; null at 0 and below.

    >>> log10("x")
    Column<log10(x)>
    """
    return of("log10", column)


def pow(column: Given, exponent: Given) -> Column:
    """To a power, as a double.

    >>> pow("x", 2)
    Column<pow(x, 2)>
    """
    return of("pow", column, exponent)


power = pow


def floor(column: Given, scale: int | None = None) -> Column:
    """The next whole number below, a long; of a decimal a decimal.

    >>> floor("x")
    Column<floor(x)>
    """
    return of("floor", column) if scale is None else of("floor_to", column, scale)


def ceil(column: Given, scale: int | None = None) -> Column:
    """The next whole number above, a long; of a decimal a decimal.

    >>> ceil("x")
    Column<ceil(x)>
    """
    return of("ceil", column) if scale is None else of("ceil_to", column, scale)


ceiling = ceil


def round(column: Given, scale: int = 0) -> Column:
    """Half away from zero.

    >>> round("x", 2)
    Column<round(x, 2)>
    """
    return of("round", column, scale)


def sin(column: Given) -> Column:
    """Sine.

    >>> sin("x")
    Column<sin(x)>
    """
    return of("sin", column)


def cos(column: Given) -> Column:
    """Cosine.

    >>> cos("x")
    Column<cos(x)>
    """
    return of("cos", column)


def tan(column: Given) -> Column:
    """Tangent.

    >>> tan("x")
    Column<tan(x)>
    """
    return of("tan", column)


def sign(column: Given) -> Column:
    """-1.0, 0.0 or 1.0.

    >>> sign("x")
    Column<sign(x)>
    """
    return of("sign", column)


signum = sign


def negative(column: Given) -> Column:
    """With its sign changed.

    >>> negative("x")
    Column<neg(x)>
    """
    return of("neg", column)


negate = negative
