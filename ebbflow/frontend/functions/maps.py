"""Functions of maps and of structs.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column, lit, named_or
from ebbflow.frontend.functions.calling import Given, flat, of, text


def struct(*columns: Given) -> Column:
    """A struct of these columns, under their names.

    >>> struct("x", lit(1).alias("one"))
    Column<named_struct('x', x, 'one', 1)>
    """
    parts: list[Column] = []
    for i, given in enumerate(flat(columns)):
        column = given if isinstance(given, Column) else named_or(given)
        parts += [lit(column.output_name or f"col{i + 1}"), column]
    return of("named_struct", *parts)


def named_struct(*columns: Given) -> Column:
    """A struct of names and values in turn.

    >>> named_struct(lit("a"), "x")
    Column<named_struct('a', x)>
    """
    return of("named_struct", *columns)


def create_map(*columns: Given) -> Column:
    """A map of keys and values in turn.

    >>> create_map("k", "x")
    Column<create_map(k, x)>
    """
    return of("create_map", *flat(columns))


def map_from_arrays(keys: Given, values: Given) -> Column:
    """A map of an array of keys and one of values.

    >>> map_from_arrays("ks", "xs")
    Column<map_from_arrays(ks, xs)>
    """
    return of("map_from_arrays", keys, values)


def map_from_entries(column: Given) -> Column:
    """A map of an array of structs, keys and values.

    >>> map_from_entries("xs")
    Column<map_from_entries(xs)>
    """
    return of("map_from_entries", column)


def map_concat(*columns: Given) -> Column:
    """The entries of all maps; of equal keys the last counts.

    >>> map_concat("a", "b")
    Column<map_concat(a, b)>
    """
    return of("map_concat", *flat(columns))


def map_keys(column: Given) -> Column:
    """A map's keys, in order.

    >>> map_keys("xs")
    Column<map_keys(xs)>
    """
    return of("map_keys", column)


def map_values(column: Given) -> Column:
    """A map's values, in the order of their keys.

    >>> map_values("xs")
    Column<map_values(xs)>
    """
    return of("map_values", column)


def map_entries(column: Given) -> Column:
    """A map's entries, an array of structs.

    >>> map_entries("xs")
    Column<map_entries(xs)>
    """
    return of("map_entries", column)


def map_contains_key(column: Given, value: object) -> Column:
    """Whether a map has the key.

    >>> map_contains_key("xs", "a")
    Column<map_contains_key(xs, 'a')>
    """
    return of("map_contains_key", column, text(value))


def str_to_map(text_: Given, pairDelim: Given = ",", keyValueDelim: Given = ":") -> Column:
    """A map of the keys and values that a text has: `a:1,b:2`.

    >>> str_to_map("line")
    Column<str_to_map(line, ',', ':')>
    """
    return of("str_to_map", text_, text(pairDelim), text(keyValueDelim))
