"""Functions of arrays, maps and structs, with Spark's meanings.

Their values here are plain: tuples, of elements, of fields, or of a map's pairs in the order of its keys.  Where Spark
raises an error (an index beyond an array, a key that is there twice), the answer is null, or the last of equal keys.

Rule: equal elements are those that `=` finds equal, nan equal to nan, and a null is equal to a null where elements are
told apart (distinct, union, except).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ebbflow.columns.schema import BOOLEAN, INT, LONG, STRING, Type, array_of, struct_of
from ebbflow.errors import TypeMismatch, UnknownColumn, did_you_mean
from ebbflow.expressions.array_functions import (
    at_one,
    at_zero,
    contains,
    distinct,
    fits_array,
    fits_flatten,
    fits_join,
    fits_reverse,
    fits_sequence,
    fits_sequence_by,
    fits_sort,
    fits_texts,
    fits_zip,
    flattened,
    in_order,
    in_order_nulls_last,
    inserted,
    intersect,
    join,
    largest,
    least,
    matches,
    overlap,
    part,
    position,
    repeated,
    same_value,
    sequence,
    sequence_by,
    split,
    without,
    zipped,
)
from ebbflow.expressions.map_functions import (
    fits_create_map,
    fits_from_arrays,
    fits_from_entries,
    fits_has_key,
    fits_map_concat,
    fits_str_to_map,
    found_in_map,
    has_key,
    made_map,
    map_and_key,
    map_concat,
    map_from_arrays,
    map_from_entries,
    str_to_map,
)
from ebbflow.expressions.nested_typing import (
    MAKING_HINT,
    Array,
    always,
    element_type,
    key_type,
    known_type,
    name_of,
    of_array,
    of_array_and_element,
    of_arrays,
    of_map,
    same_type,
    take_array,
    take_whole,
    value_type,
    wanted_instead,
)
from ebbflow.expressions.signature import Conversions, Fits, Function
from ebbflow.expressions.typed import Expr, Literal

# ---- types ----------------------------------------------------------------------------------


# ---- arrays ---------------------------------------------------------------------------------


# ---- maps -----------------------------------------------------------------------------------


# ---- structs --------------------------------------------------------------------------------


def _fits_named_struct(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    """Names and values in turn."""
    fields = []
    for name, value in zip(args[::2], args[1::2]):
        if not isinstance(name, Literal) or not isinstance(name.value, str):
            raise TypeMismatch(f'named_struct takes names as plain text, and got "{name}".', hint='"a", x, "b", y')
        fields.append((name.value, convert.written_type(value)))
    if len(args) % 2:
        raise TypeMismatch("named_struct takes names and values in turn.", hint='For example "a", x, "b", y.')
    return tuple(args), struct_of(*fields)


def _fits_struct(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    return tuple(args), struct_of(*((name_of(arg, i), convert.written_type(arg)) for i, arg in enumerate(args)))


def _fits_get_field(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    """A struct, or an array of structs, and a field's name."""
    held, name = args
    is_array = held.type.name == "array"
    inner = held.type.element if is_array else held.type
    if inner.name != "struct":
        raise wanted_instead("get_field", "a struct", held)
    if not isinstance(name, Literal) or not isinstance(name.value, str):
        raise TypeMismatch(f'a field of a struct is named by plain text, and "{name}" is none.', hint=MAKING_HINT)
    field, kind = inner.parts[_field_at([field for field, _ in inner.parts], name.value)]
    return (held, Literal(field, STRING)), array_of(kind) if is_array else kind


def _field_at(names: list[str], name: str) -> int:
    for wanted, given in ((name, names), (name.lower(), [each.lower() for each in names])):
        if wanted in given:
            return given.index(wanted)
    raise UnknownColumn(
        f'there is no field "{name}" in a struct of: {", ".join(names) or "nothing"}.',
        hint=did_you_mean(name, names) or "Name one of these.",
    )


@lru_cache(4096)
def _place(kind: str, field: str) -> int:
    held = known_type(kind)
    return [name for name, _ in (held.element if held.name == "array" else held).parts].index(field)


def get_field(held: Any, field: str, kind: str) -> Any:
    at = _place(kind, field)
    return tuple(None if x is None else x[at] for x in held) if kind.startswith("array") else held[at]


def _fits_with_field(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    held, name, value = args
    if held.type.name != "struct":
        raise wanted_instead("with_field", "a struct", held)
    assert isinstance(name, Literal)
    names = [field for field, _ in held.type.parts]
    fields = list(held.type.parts)
    if name.value in names:
        fields[names.index(str(name.value))] = (str(name.value), convert.written_type(value))
    else:
        fields.append((str(name.value), convert.written_type(value)))
    return (held, name, value), struct_of(*fields)


def with_field(held: Array | None, name: str, value: Any, kind: str) -> Array | None:
    if held is None:
        return None
    names = [field for field, _ in known_type(kind).parts]
    if name in names:
        return tuple(value if field == name else x for field, x in zip(names, held))
    return (*held, value)


# ---- any of them ----------------------------------------------------------------------------


def _fits_item(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    """`x[y]`: an element from 0 on, a map's value, a struct's field."""
    held, key = args
    if held.type == STRING:
        raise TypeMismatch(
            f'[...] asks for an element of an array, and "{held}" is text.',
            hint="Part of a text is .str.substr(start, length), counted from 1.",
        )
    if held.type.name == "map":
        found = map_and_key("[...]", args, convert)
        return found, value_type(found[0].type)
    if held.type.name == "struct" or (isinstance(key, Literal) and isinstance(key.value, str)):
        return _fits_get_field(args, convert)
    array = take_array("[...]", held, convert)
    return (array, take_whole("[...]", key, convert)), array.type.element


def item(held: Any, key: Any, kind: str) -> Any:
    if kind.startswith("map"):
        return found_in_map(held, key)
    return get_field(held, key, kind) if isinstance(key, str) else at_zero(held, key)


def _fits_element_at(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if args[0].type.name == "map":
        found = map_and_key("element_at", args, convert)
        return found, value_type(found[0].type)
    array = take_array("element_at", args[0], convert)
    return (array, take_whole("element_at", args[1], convert)), array.type.element


def element_at(held: Any, key: Any, kind: str) -> Any:
    return found_in_map(held, key) if kind.startswith("map") else at_one(held, key)


def _fits_size(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if args[0].type.name not in ("array", "map"):
        raise wanted_instead("size", "an array or a map", args[0])
    return tuple(args), INT


def _row(
    name: str, least_most: tuple[int, int | None], fits: Fits, says: str, fn: Callable[..., Any], also: str = "",
    sees_null: bool = False, of_types: bool = False,
) -> Function:  # fmt: skip
    few, many = least_most
    takes = " ".join(["any"] * few + (["any*"] if many is None else ["any?"] * (many - few)))
    return Function(name, takes, "same", says, fn, also=also, sees_null=sees_null, of_types=of_types, fits=fits)


COLLECTION_FUNCTIONS = (
    _row("array", (0, None), fits_array, "an array of these values", lambda *x: x, "make_array", sees_null=True),
    _row("size", (1, 1), _fits_size, "how many elements, or entries", len, "cardinality array_size"),
    _row("element_at", (2, 2), _fits_element_at, "an element from 1 on, or a map's value", element_at,
         "try_element_at", of_types=True),
    _row("get", (2, 2), of_array("get", element_type, take_whole), "an element from 0 on", at_zero),
    _row("get_item", (2, 2), _fits_item, "an element from 0 on, a map's value", item, of_types=True),
    _row("get_field", (2, 2), _fits_get_field, "a struct's field", get_field, of_types=True),
    _row("array_contains", (2, 2), of_array_and_element("array_contains", always(BOOLEAN)),
         "whether an element equals it", contains, "list_contains"),
    _row("array_position", (2, 2), of_array_and_element("array_position", always(LONG)),
         "where it is first, from 1; 0 where it is not", position, "list_position"),
    _row("array_remove", (2, 2), of_array_and_element("array_remove", same_type), "without the elements that equal it",
         lambda values, value: tuple(x for x in values if x is None or not same_value(x, value))),
    _row("array_append", (2, 2), of_array_and_element("array_append", same_type), "with it at the end",
         lambda values, value: None if values is None else (*values, value), "list_append", sees_null=True),
    _row("array_prepend", (2, 2), of_array_and_element("array_prepend", same_type), "with it at the start",
         lambda values, value: None if values is None else (value, *values), sees_null=True),
    _row("array_insert", (3, 3), of_array_and_element("array_insert", same_type, 2), "with it at a position", inserted,
         sees_null=True),
    _row("array_distinct", (1, 1), of_array("array_distinct", same_type), "each element once", distinct,
         "list_distinct"),
    _row("array_compact", (1, 1), of_array("array_compact", same_type), "without nulls",
         lambda values: tuple(x for x in values if x is not None)),
    _row("array_union", (2, 2), of_arrays("array_union", same_type), "the elements of both, each once",
         lambda one, two: distinct(one + two)),
    _row("array_intersect", (2, 2), of_arrays("array_intersect", same_type), "the elements that are in both, each once",
         intersect),
    _row("array_except", (2, 2), of_arrays("array_except", same_type), "the elements that are only in the first, once",
         without),
    _row("arrays_overlap", (2, 2), of_arrays("arrays_overlap", always(BOOLEAN)), "whether an element is in both",
         overlap),
    _row("reverse", (1, 1), fits_reverse, "from its end to its start", lambda x: x[::-1], "list_reverse"),
    _row("array_join", (2, 3), fits_join, "the elements as one text, a delimiter between", join),
    _row("array_sort", (1, 1), of_array("array_sort", same_type), "in order, nulls last", in_order_nulls_last),
    _row("sort_array", (1, 2), fits_sort, "in order, nulls first, or the other way round", in_order),
    _row("array_min", (1, 1), of_array("array_min", element_type), "the least element", least),
    _row("array_max", (1, 1), of_array("array_max", element_type), "the largest element", largest),
    _row("array_repeat", (2, 2), lambda args, convert: ((args[0], take_whole("array_repeat", args[1], convert)),
         array_of(convert.written_type(args[0]))), "so many times", repeated, sees_null=True),
    _row("slice", (3, 3), of_array("slice", same_type, take_whole, take_whole), "so many elements from a position on",
         part, "array_slice"),
    _row("flatten", (1, 1), fits_flatten, "the elements of the elements", flattened),
    _row("arrays_zip", (1, None), fits_zip, "an array of structs, one field of each array", zipped),
    _row("sequence", (2, 3), fits_sequence, "numbers or dates from one to another", sequence),
    Function("sequence_by", "moment moment int int int", "same",
             "moments from one to another, so many months, days and microseconds apart", sequence_by, zoned=True,
             fits=fits_sequence_by),
    _row("split", (2, 3), fits_texts("split"), "the parts between matches of a regular expression", split),
    _row("regexp_extract_all", (2, 3), fits_texts("regexp_extract_all"), "a group of every match", matches),
    _row("create_map", (0, None), fits_create_map, "a map of keys and values in turn", made_map, "map",
         sees_null=True, of_types=True),
    _row("map_from_arrays", (2, 2), fits_from_arrays, "a map of keys and of values", map_from_arrays, of_types=True),
    _row("map_from_entries", (1, 1), fits_from_entries, "a map of pairs", map_from_entries, of_types=True),
    _row("map_concat", (1, None), fits_map_concat, "the entries of all of them; the last of equal keys counts",
         map_concat, of_types=True),
    _row("map_keys", (1, 1), of_map("map_keys", lambda kind: array_of(key_type(kind))), "its keys, in order",
         lambda pairs: tuple(key for key, _ in pairs)),
    _row("map_values", (1, 1), of_map("map_values", lambda kind: array_of(value_type(kind))),
         "its values, by their keys", lambda pairs: tuple(value for _, value in pairs)),
    _row("map_entries", (1, 1), of_map("map_entries", lambda kind: array_of(struct_of(*kind.parts))), "its pairs",
         lambda pairs: pairs),
    _row("map_contains_key", (2, 2), fits_has_key, "whether it has the key", has_key),
    _row("str_to_map", (1, 3), fits_str_to_map, "a map of keys and values in a text", str_to_map),
    _row("struct", (1, None), _fits_struct, "a struct of these values", lambda *x: x, sees_null=True),
    _row("named_struct", (2, None), _fits_named_struct, "a struct of names and values in turn",
         lambda *x: x[1::2], "struct_pack", sees_null=True),
    _row("with_field", (3, 3), _fits_with_field, "with a field more, or another one", with_field, sees_null=True,
         of_types=True),
)  # fmt: skip
