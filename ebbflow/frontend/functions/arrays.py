"""Functions of arrays.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column, lit
from ebbflow.frontend.functions.calling import Given, flat, number, of, text

# ---- of the table ---------------------------------------------------------------------------


def array(*columns: Given) -> Column:
    """An array of these values, which have one type.

    >>> array("x", "y")
    Column<array(x, y)>
    """
    return of("array", *flat(columns))


def size(column: Given) -> Column:
    """How many elements an array has, or entries a map.

    >>> size("xs")
    Column<size(xs)>
    """
    return of("size", column)


def array_contains(column: Given, value: object) -> Column:
    """Whether an element equals the value; null where none does and one is null.

    >>> array_contains("xs", 3)
    Column<array_contains(xs, 3)>
    """
    return of("array_contains", column, text(value))


def array_position(column: Given, value: object) -> Column:
    """Where the value is first, from 1; 0 where it is not.

    >>> array_position("xs", 3)
    Column<array_position(xs, 3)>
    """
    return of("array_position", column, text(value))


def array_remove(column: Given, value: object) -> Column:
    """Without the elements that equal the value.

    >>> array_remove("xs", 3)
    Column<array_remove(xs, 3)>
    """
    return of("array_remove", column, text(value))


def array_append(column: Given, value: object) -> Column:
    """With the value at the end.

    >>> array_append("xs", 3)
    Column<array_append(xs, 3)>
    """
    return of("array_append", column, text(value))


def array_prepend(column: Given, value: object) -> Column:
    """With the value at the start.

    >>> array_prepend("xs", 3)
    Column<array_prepend(xs, 3)>
    """
    return of("array_prepend", column, text(value))


def array_insert(column: Given, pos: Given, value: object) -> Column:
    """With the value at a position from 1 on, or from the end; nulls fill what is between.

    >>> array_insert("xs", 2, 7)
    Column<array_insert(xs, 2, 7)>
    """
    return of("array_insert", column, number(pos), text(value))


def array_distinct(column: Given) -> Column:
    """Each element once, where it is first.

    >>> array_distinct("xs")
    Column<array_distinct(xs)>
    """
    return of("array_distinct", column)


def array_compact(column: Given) -> Column:
    """Without the nulls.

    >>> array_compact("xs")
    Column<array_compact(xs)>
    """
    return of("array_compact", column)


def array_union(column: Given, other: Given) -> Column:
    """The elements of both, each once.

    >>> array_union("xs", "ys")
    Column<array_union(xs, ys)>
    """
    return of("array_union", column, other)


def array_intersect(column: Given, other: Given) -> Column:
    """The elements that are in both, each once.

    >>> array_intersect("xs", "ys")
    Column<array_intersect(xs, ys)>
    """
    return of("array_intersect", column, other)


def array_except(column: Given, other: Given) -> Column:
    """The elements of the first that are not in the second, each once.

    >>> array_except("xs", "ys")
    Column<array_except(xs, ys)>
    """
    return of("array_except", column, other)


def arrays_overlap(column: Given, other: Given) -> Column:
    """Whether an element is in both; null where none is and one of them has a null.

    >>> arrays_overlap("xs", "ys")
    Column<arrays_overlap(xs, ys)>
    """
    return of("arrays_overlap", column, other)


def array_join(column: Given, delimiter: str, null_replacement: str | None = None) -> Column:
    """The elements as one text, a delimiter between; nulls are left out, or replaced.

    >>> array_join("xs", ", ")
    Column<array_join(xs, ', ')>
    """
    return of("array_join", column, text(delimiter), None if null_replacement is None else text(null_replacement))


def array_sort(column: Given) -> Column:
    """In order, nulls last.

    >>> array_sort("xs")
    Column<array_sort(xs)>
    """
    return of("array_sort", column)


def sort_array(column: Given, asc: bool = True) -> Column:
    """In order, nulls first; or the other way round.

    >>> sort_array("xs", False)
    Column<sort_array(xs, False)>
    """
    return of("sort_array", column, lit(asc))


def array_min(column: Given) -> Column:
    """The least element.

    >>> array_min("xs")
    Column<array_min(xs)>
    """
    return of("array_min", column)


def array_max(column: Given) -> Column:
    """The largest element.

    >>> array_max("xs")
    Column<array_max(xs)>
    """
    return of("array_max", column)


def array_repeat(column: Given, count: Given) -> Column:
    """An array of the value so many times.

    >>> array_repeat("x", 2)
    Column<array_repeat(x, 2)>
    """
    return of("array_repeat", column, number(count))


def slice(column: Given, start: Given, length: Given) -> Column:
    """So many elements, from a position (the first is 1) on.

    >>> slice("xs", 1, 2)
    Column<slice(xs, 1, 2)>
    """
    return of("slice", column, number(start), number(length))


def flatten(column: Given) -> Column:
    """The elements of the elements, one array.

    >>> flatten("xs")
    Column<flatten(xs)>
    """
    return of("flatten", column)


def arrays_zip(*columns: Given) -> Column:
    """An array of structs, with a field of each array.

    >>> arrays_zip("xs", "ys")
    Column<arrays_zip(xs, ys)>
    """
    return of("arrays_zip", *flat(columns))


def sequence(start: Given, stop: Given, step: Given = None) -> Column:
    """Whole numbers, or dates, from one to another, both included.

    >>> sequence("x", "y")
    Column<sequence(x, y)>
    """
    return of("sequence", start, stop, step)


def element_at(column: Given, extraction: object) -> Column:
    """An element from 1 on (or from the end), or a map's value; null where there is none.

    >>> element_at("xs", -1)
    Column<element_at(xs, -1)>
    """
    return of("element_at", column, text(extraction))


def get(column: Given, index: Given) -> Column:
    """An element from 0 on; null where there is none.

    >>> get("xs", 0)
    Column<get(xs, 0)>
    """
    return of("get", column, number(index))


def split(column: Given, pattern: Given, limit: Given = -1) -> Column:
    """The parts of a text between matches of a regular expression.

    >>> split("line", " ")
    Column<split(line, ' ', -1)>
    """
    return of("split", column, text(pattern), number(limit))


def regexp_extract_all(column: Given, regexp: Given, idx: Given = 1) -> Column:
    """A group of every match of a regular expression.

    >>> regexp_extract_all("line", r"(\\d+)")
    Column<regexp_extract_all(line, '(\\\\d+)', 1)>
    """
    return of("regexp_extract_all", column, text(regexp), number(idx))


cardinality = size
array_size = size
try_element_at = element_at
