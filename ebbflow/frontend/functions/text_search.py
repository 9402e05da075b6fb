"""Functions that look into text: regular expressions, positions, parts, distances.

What to look for is plain text.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of, text


def elt(number: Given, *columns: Given) -> Column:
    """The one of that number, from 1; null where there is none.

    >>> elt(1, "x", "y")
    Column<elt(1, x, y)>
    """
    return of("elt", number, *columns)


def find_in_set(column: Given, among: Given) -> Column:
    """Its number in a list with commas; 0 where it is not there.

    >>> find_in_set("x", "list")
    Column<find_in_set(x, list)>
    """
    return of("find_in_set", column, among)


def instr(column: Given, part: Given) -> Column:
    """Where a text occurs, from 1; 0 where it does not.

    >>> instr("x", "a")
    Column<instr(x, 'a')>
    """
    return of("instr", column, text(part))


def locate(part: Given, column: Given, start: Given = 1) -> Column:
    """Where a text occurs, from a position on; 0 where it does not.

    >>> locate("a", "x")
    Column<locate('a', x, 1)>
    """
    return of("locate", text(part), column, start)


def position(part: Given, column: Given, start: Given = None) -> Column:
    """Where a text, which may be a column, occurs; 0 where it does not.

    >>> position("part", "x")
    Column<locate(part, x)>
    """
    return of("locate", part, column, start)


def levenshtein(column: Given, other: Given, most: Given = None) -> Column:
    """How many characters have to be put in, left out or replaced; -1 for more than a largest number.

    >>> levenshtein("x", "y")
    Column<levenshtein(x, y)>
    """
    return of("levenshtein", column, other, most)


def regexp_like(column: Given, pattern: Given) -> Column:
    """Whether a regular expression occurs in it; classes such as \\d are those of ASCII.

    >>> regexp_like("x", "[0-9]+")
    Column<regexp_like(x, '[0-9]+')>
    """
    return of("regexp_like", column, text(pattern))


def regexp_extract(column: Given, pattern: Given, group: Given = 1) -> Column:
    """A group of the first match; an empty text where there is none.

    >>> regexp_extract("x", "[0-9]+")
    Column<regexp_extract(x, '[0-9]+', 1)>
    """
    return of("regexp_extract", column, text(pattern), group)


def regexp_substr(column: Given, pattern: Given) -> Column:
    """The first match; null without one.

    >>> regexp_substr("x", "[0-9]+")
    Column<regexp_substr(x, '[0-9]+')>
    """
    return of("regexp_substr", column, text(pattern))


def regexp_count(column: Given, pattern: Given) -> Column:
    """How many matches there are.

    >>> regexp_count("x", "[0-9]+")
    Column<regexp_count(x, '[0-9]+')>
    """
    return of("regexp_count", column, text(pattern))


def regexp_instr(column: Given, pattern: Given, group: Given = None) -> Column:
    """Where the first match begins, from 1; 0 without one.

    >>> regexp_instr("x", "[0-9]+")
    Column<regexp_instr(x, '[0-9]+')>
    """
    return of("regexp_instr", column, text(pattern), group)


def regexp_replace(column: Given, pattern: Given, by: Given) -> Column:
    """Each match replaced; `$1` stands for a group of it.

    >>> regexp_replace("x", "[0-9]+", "y")
    Column<regexp_replace(x, '[0-9]+', 'y')>
    """
    return of("regexp_replace", column, text(pattern), text(by))


def soundex(column: Given) -> Column:
    """How an English word sounds: a letter and three digits.

    >>> soundex("x")
    Column<soundex(x)>
    """
    return of("soundex", column)


def split_part(column: Given, delimiter: Given, number: Given) -> Column:
    """The part of this number between delimiters, from the end for a negative one.

    >>> split_part("x", ",", 1)
    Column<split_part(x, ',', 1)>
    """
    return of("split_part", column, text(delimiter), number)


def substring_index(column: Given, delimiter: Given, count: Given) -> Column:
    """What stands before so many delimiters; behind, from the end, for a negative number.

    >>> substring_index("x", ",", 1)
    Column<substring_index(x, ',', 1)>
    """
    return of("substring_index", column, text(delimiter), count)


rlike = regexp_like
regexp = regexp_like
