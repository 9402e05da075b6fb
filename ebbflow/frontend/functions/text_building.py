"""Functions that build text: padded, repeated, joined, formatted.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of, text


def btrim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at both ends.

    >>> btrim("x")
    Column<trim(x)>
    """
    return of("trim", column, None if these is None else text(these))


def concat_ws(separator: Given, *columns: Given) -> Column:
    """Those that are not null, a separator between.

    >>> concat_ws(", ", "x", "y")
    Column<concat_ws(', ', x, y)>
    """
    return of("concat_ws", text(separator), *columns)


def format_number(column: Given, digits: Given) -> Column:
    """With commas, and so many digits behind the point.

    >>> format_number("x", 2)
    Column<format_number(x, 2)>
    """
    return of("format_number", column, digits)


def format_string(form: Given, *columns: Given) -> Column:
    """Put into a format, as printf does: `format_string("%s: %05d", "name", "n")`.

    >>> format_string("%s!", "x", "y")
    Column<format_string('%s!', x, y)>
    """
    return of("format_string", text(form), *columns)


def initcap(column: Given) -> Column:
    """Each word with a capital.

    >>> initcap("x")
    Column<initcap(x)>
    """
    return of("initcap", column)


def lpad(column: Given, length: Given, pad: Given = None) -> Column:
    """Filled up at the start to a length, or cut to it; with spaces, bytes with zeros, if nothing is said.

    >>> lpad("x", 5, "-")
    Column<lpad(x, 5, '-')>
    """
    return of("lpad", column, length, None if pad is None else text(pad))


def rpad(column: Given, length: Given, pad: Given = None) -> Column:
    """Filled up at the end to a length, or cut to it; with spaces, bytes with zeros, if nothing is said.

    >>> rpad("x", 5, "-")
    Column<rpad(x, 5, '-')>
    """
    return of("rpad", column, length, None if pad is None else text(pad))


def overlay(column: Given, by: Given, start: Given, length: Given = None) -> Column:
    """With another text in place of its characters from a position on.

    >>> overlay("x", "y", 2)
    Column<overlay(x, y, 2)>
    """
    return of("overlay", column, by, start, length)


def repeat(column: Given, times: Given) -> Column:
    """So many times.

    >>> repeat("x", 3)
    Column<repeat(x, 3)>
    """
    return of("repeat", column, times)


def reverse(column: Given) -> Column:
    """From its end to its start.

    >>> reverse("x")
    Column<reverse(x)>
    """
    return of("reverse", column)


def translate(column: Given, these: Given, by: Given) -> Column:
    """Characters replaced by others, one for one; those without a counterpart go.

    >>> translate("x", "ab", "y")
    Column<translate(x, 'ab', 'y')>
    """
    return of("translate", column, text(these), text(by))


printf = format_string
