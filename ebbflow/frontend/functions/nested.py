"""Functions of arrays, maps and structs, and aggregates that collect values.

Where a function takes a column, a plain string is the column's name; a value to look for, or to put in, is itself.

Rule: each function is one row of the table of operations or of the table of aggregates, or a short composition of them.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.dataflow.collecting import with_order
from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column, lit, named_or, when
from ebbflow.frontend.functions.calling import Given, of, text


def _flat(columns: tuple[Any, ...]) -> list[Any]:
    return [x for one in columns for x in (one if isinstance(one, list | tuple) else [one])]


def _number(value: Given) -> Column:
    """Where PySpark takes a plain number, or a column by its name."""
    return named_or(value)


# ---- a row for each element -----------------------------------------------------------------


def explode(column: Given) -> Column:
    """A row for each element of an array, or for each entry of a map; in select and with_columns.

    >>> import ebbflow as ebb
    >>> import ebbflow.functions as F
    >>> flow = ebb.Dataflow()
    >>> lines = flow.input("lines", "id long, line string")
    >>> flow.output("words", lines.select("id", word=F.explode(F.split("line", " "))))
    >>> flow.compute(lines=[(1, "to be"), (2, "or")])["words"].rows()
    [(1, 'be', 1), (1, 'to', 1), (2, 'or', 1)]
    """
    return Column(w.Exploded(named_or(column).tree))


def explode_outer(column: Given) -> Column:
    """The same, and a row with null where there is no element.

    >>> explode_outer("xs")
    Column<explode_outer(xs)>
    """
    return Column(w.Exploded(named_or(column).tree, is_outer=True))


def posexplode(column: Given) -> Column:
    """The same with the position, from 0, as a column in front: `.alias("pos", "x")` names both.

    >>> posexplode("xs")
    Column<posexplode(xs)>
    """
    return Column(w.Exploded(named_or(column).tree, has_position=True))


def posexplode_outer(column: Given) -> Column:
    """The same, and a row with nulls where there is no element.

    >>> posexplode_outer("xs")
    Column<posexplode_outer(xs)>
    """
    return Column(w.Exploded(named_or(column).tree, has_position=True, is_outer=True))


# ---- aggregates -----------------------------------------------------------------------------


def collected(op: str, column: Given, order_by: object) -> Column:
    """A collecting aggregate, by an order or none."""
    order, trees = [], []
    for given in _flat((order_by,)) if order_by is not None else []:
        down = isinstance(given, str) and given.startswith("-")
        by = named_or(given[1:] if down else given)
        if isinstance(given, Column):
            by, down = given, given.descending
        order.append((down, down if by.nulls_last is None else by.nulls_last))
        trees.append(by.tree)
    names = [part for i, tree in enumerate(trees) for part in (w.Constant(f"{i}"), tree)]
    by_all = w.Applied("named_struct", tuple(names)) if trees else None
    return Column(w.Aggregated(with_order(op, tuple(order)), named_or(column).tree, by_all))


def collect_list(column: Given, order_by: object = None) -> Column:
    """The values of a group as an array, without nulls: in the order of the values, or by `order_by`.

    >>> import ebbflow as ebb
    >>> import ebbflow.functions as F
    >>> flow = ebb.Dataflow()
    >>> sales = flow.input("sales", "shop string, day long, price long")
    >>> prices = F.collect_list("price", order_by="-day")
    >>> flow.output("out", sales.group_by("shop").agg(prices=prices, n=ebb.count()))
    >>> flow.compute(sales=[("a", 1, 10), ("a", 2, 5), ("b", 1, 7)])["out"].rows()
    [('a', [5, 10], 2, 1), ('b', [7], 1, 1)]
    """
    return collected("collect_list", column, order_by)


def collect_set(column: Given, order_by: object = None) -> Column:
    """The different values of a group as an array, without null: in the order of the values, or by `order_by`.

    >>> collect_set("x")
    Column<collect_set(x)>
    """
    return collected("collect_set", column, order_by)


def string_agg(column: Given, delimiter: object = "", order_by: object = None) -> Column:
    """The texts of a group as one, a delimiter between: in the order of the texts, or by `order_by`.

    >>> import ebbflow as ebb
    >>> import ebbflow.functions as F
    >>> flow = ebb.Dataflow()
    >>> words = flow.input("words", "first string, word string")
    >>> flow.output("out", words.group_by("first").agg(all=F.string_agg("word", ", ")))
    >>> flow.compute(words=[("a", "ant"), ("b", "bee"), ("a", "ape")])["out"].rows()
    [('a', 'ant, ape', 1), ('b', 'bee', 1)]
    """
    return _put_together(collected("collect_list", column, order_by), delimiter)


def string_agg_distinct(column: Given, delimiter: object = "") -> Column:
    """The different texts of a group as one, in their order.

    >>> string_agg_distinct("word", ",").output_name is None
    True
    """
    return _put_together(collected("collect_set", column, None), delimiter)


def _put_together(values: Column, delimiter: object) -> Column:
    found = of("array_join", values, text("" if delimiter is None else delimiter))
    return when(of("size", values) > 0, found)


# ---- structs, and JSON ----------------------------------------------------------------------


def struct(*columns: Given) -> Column:
    """A struct of these columns, under their names.

    >>> struct("x", lit(1).alias("one"))
    Column<named_struct('x', x, 'one', 1)>
    """
    parts: list[Column] = []
    for i, given in enumerate(_flat(columns)):
        column = given if isinstance(given, Column) else named_or(given)
        parts += [lit(column.output_name or f"col{i + 1}"), column]
    return of("named_struct", *parts)


def named_struct(*columns: Given) -> Column:
    """A struct of names and values in turn.

    >>> named_struct(lit("a"), "x")
    Column<named_struct('a', x)>
    """
    return of("named_struct", *columns)


def from_json(column: Given, schema: object) -> Column:
    """A JSON text as a value of a nested type; a struct without values where it cannot be read.

    >>> from_json("j", "a long, b array<string>")
    Column<from_json(j, 'struct<a:long,b:array<string>>')>
    """
    if isinstance(schema, Column) and isinstance(schema.tree, w.Constant):
        schema = schema.tree.value
    return of("from_json", column, lit(str(json_type(schema))))


def json_type(schema: object) -> Any:
    """The type that a schema of `from_json` says: that of a struct may be written as its fields."""
    if isinstance(schema, str) and not schema.strip().lower().startswith(("array<", "map<", "struct<")):
        schema = f"struct<{schema}>"
    return type_of(schema)


# ---- of the table ---------------------------------------------------------------------------


def array(*columns: Given) -> Column:
    """An array of these values, which have one type.

    >>> array("x", "y")
    Column<array(x, y)>
    """
    return of("array", *_flat(columns))


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
    return of("array_insert", column, _number(pos), text(value))


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
    return of("array_repeat", column, _number(count))


def slice(column: Given, start: Given, length: Given) -> Column:
    """So many elements, from a position (the first is 1) on.

    >>> slice("xs", 1, 2)
    Column<slice(xs, 1, 2)>
    """
    return of("slice", column, _number(start), _number(length))


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
    return of("arrays_zip", *_flat(columns))


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
    return of("get", column, _number(index))


def split(column: Given, pattern: Given, limit: Given = -1) -> Column:
    """The parts of a text between matches of a regular expression.

    >>> split("line", " ")
    Column<split(line, ' ', -1)>
    """
    return of("split", column, text(pattern), _number(limit))


def regexp_extract_all(column: Given, regexp: Given, idx: Given = 1) -> Column:
    """A group of every match of a regular expression.

    >>> regexp_extract_all("line", r"(\\d+)")
    Column<regexp_extract_all(line, '(\\\\d+)', 1)>
    """
    return of("regexp_extract_all", column, text(regexp), _number(idx))


def create_map(*columns: Given) -> Column:
    """A map of keys and values in turn.

    >>> create_map("k", "x")
    Column<create_map(k, x)>
    """
    return of("create_map", *_flat(columns))


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
    return of("map_concat", *_flat(columns))


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


def to_json(column: Given) -> Column:
    """A struct, a map or an array as JSON.

    >>> to_json("s")
    Column<to_json(s)>
    """
    return of("to_json", column)


def get_json_object(column: Given, path: str) -> Column:
    """A part of a JSON text, as text: `$.a.b[0]`.

    >>> get_json_object("j", "$.a")
    Column<get_json_object(j, '$.a')>
    """
    return of("get_json_object", column, text(path))


def json_array_length(column: Given) -> Column:
    """How many elements a JSON array has; null where it is none.

    >>> json_array_length("j")
    Column<json_array_length(j)>
    """
    return of("json_array_length", column)


def json_object_keys(column: Given) -> Column:
    """The keys of a JSON object, an array; null where it is none.

    >>> json_object_keys("j")
    Column<json_object_keys(j)>
    """
    return of("json_object_keys", column)


array_agg = collect_list
listagg = string_agg
listagg_distinct = string_agg_distinct
cardinality = size
array_size = size
try_element_at = element_at
