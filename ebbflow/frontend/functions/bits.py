"""Functions of bits.

Rule: each function is one row of the table of operations; whole numbers are as wide as their type.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of


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


bit_get = getbit
bitwiseNOT = bitwise_not
shiftLeft = shiftleft
shiftRight = shiftright
shiftRightUnsigned = shiftrightunsigned
