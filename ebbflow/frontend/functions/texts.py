"""Functions of text, by cases, lengths, parts and ends.

What to look for, or to put in, is plain text.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column, named_or, operand, when
from ebbflow.frontend.functions.calling import Given, of, text
from ebbflow.frontend.functions.choosing import isnotnull


def lower(column: Given) -> Column:
    """In small letters.

    >>> lower("name")
    Column<lower(name)>
    """
    return of("lower", column)


def upper(column: Given) -> Column:
    """In capitals.

    >>> upper("name")
    Column<upper(name)>
    """
    return of("upper", column)


def length(column: Given) -> Column:
    """The number of characters (of bytes, for binary).

    >>> length("name")
    Column<length(name)>
    """
    return of("length", column)


def substring(column: Given, start: Given, length: Given) -> Column:
    """From a position (the first is 1), so many characters.

    >>> substring("name", 1, 3)
    Column<substr(name, 1, 3)>
    """
    return of("substr", column, start, length)


substr = substring


def concat(*columns: Given) -> Column:
    """One after the other; null if any is null.  Plain strings are columns: `concat("first", lit(" "), "last")`.

    >>> concat("first", lit(" "), "last")
    Column<concat(first, ' ', last)>
    """
    return of("concat", *columns)


def left(column: Given, length: Given) -> Column:
    """Its first characters, so many.

    >>> left("name", 3)
    Column<substr(name, 1, 3)>
    """
    return of("substr", column, 1, length)


def right(column: Given, length: Given) -> Column:
    """Its last characters, so many; none for a number below 1.

    >>> right("name", 3)
    Column<when(and(le(3, 0), not(is_null(name))), '', substr(name, neg(3), 3))>
    """
    none = (named_or(length) <= 0) & isnotnull(column)
    return when(none, "").otherwise(of("substr", column, of("neg", length), length))


def ilike(column: Given, pattern: Given) -> Column:
    """Whether it is like a pattern, capitals or not.

    >>> ilike("name", "%B_")
    Column<like(lower(name), '%b_')>
    """
    return named_or(column).str.ilike(pattern)


def contains(column: Given, text: Given) -> Column:
    """Whether the text occurs in it.

    >>> contains("name", "a")
    Column<contains(name, 'a')>
    """
    return of("contains", column, Column(operand(text)))


def startswith(column: Given, text: Given) -> Column:
    """Whether it begins with the text.

    >>> startswith("name", "a")
    Column<starts_with(name, 'a')>
    """
    return of("starts_with", column, Column(operand(text)))


def endswith(column: Given, text: Given) -> Column:
    """Whether it ends with the text.

    >>> endswith("name", "a")
    Column<ends_with(name, 'a')>
    """
    return of("ends_with", column, Column(operand(text)))


def like(column: Given, pattern: Given) -> Column:
    """Whether it is like a pattern: % is any text, _ any character; after a backslash they mean themselves.

    >>> like("name", "%b_")
    Column<like(name, '%b_')>
    """
    return of("like", column, Column(operand(pattern)))


def trim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at both ends.

    >>> trim("name")
    Column<trim(name)>
    """
    return of("trim", column, None if these is None else text(these))


def ltrim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at the start.

    >>> ltrim("name")
    Column<ltrim(name)>
    """
    return of("ltrim", column, None if these is None else text(these))


def rtrim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at the end.

    >>> rtrim("name")
    Column<rtrim(name)>
    """
    return of("rtrim", column, None if these is None else text(these))


def replace(column: Given, search: Given, by: Given = "") -> Column:
    """Every occurrence of a text replaced by another.

    >>> replace("name", "a", "b")
    Column<replace(name, 'a', 'b')>
    """
    return of("replace", column, Column(operand(search)), Column(operand(by)))


lcase = lower
ucase = upper
char_length = length
character_length = length
