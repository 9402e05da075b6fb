"""Functions of arrays, maps and structs, with Spark's meanings.

Their values here are plain: tuples, of elements, of fields, or of a map's pairs in the order of its keys.  Where Spark
raises an error (an index beyond an array, a key that is there twice), the answer is null, or the last of equal keys.

Rule: equal elements are those that `=` finds equal, nan equal to nan, and a null is equal to a null where elements are
told apart (distinct, union, except).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.columns.nested import map_value
from ebbflow.columns.schema import (
    BOOLEAN,
    DATE,
    INT,
    LONG,
    STRING,
    VOID,
    Type,
    array_of,
    map_of,
    struct_of,
)  # fmt: skip
from ebbflow.errors import TypeMismatch, UnknownColumn, did_you_mean
from ebbflow.expressions.reference import place_in_order
from ebbflow.expressions.signature import Conversions, Fits, Function
from ebbflow.expressions.text_functions import pattern
from ebbflow.expressions.typed import Expr, Literal

MOST_ELEMENTS = 1 << 24  # elements that sequence and array_repeat make at most
Array = tuple[Any, ...]
Pairs = tuple[tuple[Any, Any], ...]

known_type = lru_cache(4096)(type_of)


# ---- types ----------------------------------------------------------------------------------


def _wants(op: str, wants: str, arg: Expr) -> TypeMismatch:
    return TypeMismatch(f'{op} takes {wants}, and "{arg}" is of type {arg.type}.', hint=_MAKES)


_MAKES = 'An array is F.array(...), a map F.create_map(...), a struct F.struct(...); .cast("array<long>") converts.'


def _array(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type == VOID:
        return convert.converted(arg, array_of(VOID))
    if arg.type.name != "array":
        raise _wants(op, "an array", arg)
    return arg


def _map(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type.name != "map":
        raise _wants(op, "a map", arg)
    return arg


def _whole(op: str, arg: Expr, convert: Conversions) -> Expr:
    if not arg.type.is_integer and arg.type != VOID:
        raise _wants(op, "a whole number", arg)
    return convert.converted(arg, LONG)


def _text(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type not in (STRING, VOID):
        raise _wants(op, "text", arg)
    return convert.converted(arg, STRING)


def _common(op: str, args: Sequence[Expr], convert: Conversions) -> Type:
    found = convert.common_type([convert.written_type(arg) for arg in args])
    if found is None:
        told = ", ".join(f'"{arg}" is of type {arg.type}' for arg in args)
        raise TypeMismatch(f"{op} takes values of one type; {told}.", hint="Convert them with .cast.")
    return found


def _alike(op: str, args: Sequence[Expr], convert: Conversions) -> tuple[list[Expr], Type]:
    kind = _common(op, args, convert)
    return [convert.converted(arg, kind) for arg in args], kind


def _of_array(op: str, gives: Callable[[Type], Type], *rest: Callable[[str, Expr, Conversions], Expr]) -> Fits:
    """An array, and then what these say."""

    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        first = _array(op, args[0], convert)
        others = [fit(op, arg, convert) for fit, arg in zip(rest, args[1:])]
        return (first, *others), gives(first.type)

    return fits


def _of_array_and_element(op: str, gives: Callable[[Type], Type], at: int = 1) -> Fits:
    """An array and a value of its elements' type, at this position; whole numbers elsewhere."""

    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        array, value = _array(op, args[0], convert), args[at]
        kind = convert.common_type([array.type.element, convert.written_type(value)])
        if kind is None:
            raise TypeMismatch(
                f'{op} finds elements of type {array.type.element}, and "{value}" is of type {value.type}.',
                hint=_MAKES,
            )
        found = list(args)
        found[0], found[at] = convert.converted(array, array_of(kind)), convert.converted(value, kind)
        for i in range(1, len(args)):
            if i != at:
                found[i] = _whole(op, args[i], convert)
        return tuple(found), gives(array_of(kind))

    return fits


def _of_arrays(op: str, gives: Callable[[Type], Type]) -> Fits:
    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        arrays, kind = _alike(op, [_array(op, arg, convert) for arg in args], convert)
        return tuple(arrays), gives(kind)

    return fits


def _of_map(op: str, gives: Callable[[Type], Type]) -> Fits:
    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        found = _map(op, args[0], convert)
        return (found,), gives(found.type)

    return fits


def _same(kind: Type) -> Type:
    return kind


def _element(kind: Type) -> Type:
    return kind.element


def _always(kind: Type) -> Callable[[Type], Type]:
    return lambda _: kind


def _key(kind: Type) -> Type:
    return kind.parts[0][1]


def _value(kind: Type) -> Type:
    return kind.parts[1][1]


# ---- arrays ---------------------------------------------------------------------------------


def _fits_array(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if not args:
        return (), array_of(VOID)
    values, kind = _alike("array", args, convert)
    return tuple(values), array_of(kind)


def _same_value(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    return bool(place_in_order(one) == place_in_order(two))


def distinct(values: Array) -> Array:
    found: dict[Any, Any] = {}
    for x in values:
        found.setdefault((x is None, None if x is None else place_in_order(x)), x)
    return tuple(found.values())


def _keys_in(values: Array) -> set[Any]:
    return {(x is None, None if x is None else place_in_order(x)) for x in values}


def intersect(one: Array, two: Array) -> Array:
    there = _keys_in(two)
    return tuple(x for x in distinct(one) if (x is None, None if x is None else place_in_order(x)) in there)


def without(one: Array, two: Array) -> Array:
    there = _keys_in(two)
    return tuple(x for x in distinct(one) if (x is None, None if x is None else place_in_order(x)) not in there)


def contains(values: Array, value: Any) -> bool | None:
    if any(x is not None and _same_value(x, value) for x in values):
        return True
    return None if None in values else False


def overlap(one: Array, two: Array) -> bool | None:
    there = _keys_in(tuple(x for x in two if x is not None))
    if any(x is not None and (False, place_in_order(x)) in there for x in one):
        return True
    has_null = any(x is None for x in one) or any(x is None for x in two)
    return None if one and two and has_null else False


def position(values: Array, value: Any) -> int:
    return next((i for i, x in enumerate(values, 1) if x is not None and _same_value(x, value)), 0)


def join(values: Array, delimiter: str, missing: str | None = None) -> str:
    shown = [missing if x is None else x for x in values]
    return delimiter.join(x for x in shown if x is not None)


def _fits_join(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    array = _array("array_join", args[0], convert)
    if array.type.element not in (STRING, VOID):
        array = convert.converted(array, array_of(STRING))
    return (array, *(_text("array_join", arg, convert) for arg in args[1:])), STRING


def in_order(values: Array, rises: bool = True) -> Array:
    """Nulls first where it rises, last where it falls."""
    there = sorted((x for x in values if x is not None), key=place_in_order, reverse=not rises)
    nulls = (None,) * (len(values) - len(there))
    return (*nulls, *there) if rises else (*there, *nulls)


def in_order_nulls_last(values: Array) -> Array:
    there = sorted((x for x in values if x is not None), key=place_in_order)
    return (*there, *((None,) * (len(values) - len(there))))


def _fits_sort(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    array = _array("sort_array", args[0], convert)
    if len(args) > 1 and args[1].type != BOOLEAN:
        raise _wants("sort_array", "whether the order rises, a boolean", args[1])
    return (array, *args[1:]), array.type


def least(values: Array) -> Any:
    return min((x for x in values if x is not None), key=place_in_order, default=None)


def largest(values: Array) -> Any:
    return max((x for x in values if x is not None), key=place_in_order, default=None)


def _fits_reverse(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if args[0].type.name == "array":
        return tuple(args), args[0].type
    return (_text("reverse", args[0], convert),), STRING


def part(values: Array, start: int, length: int) -> Array | None:
    if start == 0 or length < 0:
        return None
    first = start - 1 if start > 0 else len(values) + start
    return values[first : first + length] if first >= 0 else ()


def at_one(values: Array, index: int) -> Any:
    """From 1 on, or from the end."""
    if index == 0 or abs(index) > len(values):
        return None
    return values[index - 1 if index > 0 else index]


def at_zero(values: Array, index: int) -> Any:
    return values[index] if 0 <= index < len(values) else None


def inserted(values: Array | None, index: int | None, value: Any) -> Array | None:
    """At a position from 1 on, or from the end; nulls fill what is between."""
    if values is None or index is None or index == 0:
        return None
    if index > 0:
        filled = values + (None,) * (index - 1 - len(values))
        return (*filled[: index - 1], value, *filled[index - 1 :])
    filled = (None,) * (-index - 1 - len(values)) + values
    at = len(filled) + index + 1
    return (*filled[:at], value, *filled[at:])


def repeated(value: Any, times: int | None) -> Array | None:
    if times is not None and times > MOST_ELEMENTS:
        raise OverflowError(f"an array of {times:,} elements")
    return None if times is None else (value,) * max(times, 0)


def flattened(values: Array) -> Array | None:
    return None if None in values else tuple(x for inner in values for x in inner)


def _fits_flatten(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    array = _array("flatten", args[0], convert)
    if array.type.element.name != "array":
        raise _wants("flatten", "an array of arrays", array)
    return (array,), array.type.element


def zipped(*arrays: Array) -> Array:
    longest = max(map(len, arrays), default=0)
    return tuple(tuple(x[i] if i < len(x) else None for x in arrays) for i in range(longest))


def _fits_zip(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    arrays = [_array("arrays_zip", arg, convert) for arg in args]
    fields = [(_name_of(arg, i), array.type.element) for i, (arg, array) in enumerate(zip(args, arrays))]
    return tuple(arrays), array_of(struct_of(*fields))


def sequence(start: Any, stop: Any, step: int | None = None) -> Array | None:
    """Both ends included; null where the step leads away."""
    if isinstance(start, date):
        days = sequence(0, (stop - start).days, step)
        return None if days is None else tuple(start + timedelta(days=n) for n in days)
    step = (1 if start <= stop else -1) if step is None else step
    if step == 0 or (start < stop and step < 0) or (start > stop and step > 0):
        return (start,) if start == stop else None
    if (stop - start) // step >= MOST_ELEMENTS:
        raise OverflowError(f"a sequence of more than {MOST_ELEMENTS:,} elements")
    return tuple(range(start, stop + (1 if step > 0 else -1), step))


def _fits_sequence(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    step = [_whole("sequence", arg, convert) for arg in args[2:]]
    if all(arg.type == DATE for arg in args[:2]):
        return (*args[:2], *step), array_of(DATE)
    kind = convert.common_type([convert.written_type(arg) for arg in args])
    ends = [_whole("sequence", arg, convert) for arg in args[:2]]
    return (*ends, *step), array_of(kind if kind is not None and kind.is_integer else LONG)


def split(text: str, regex: str, limit: int = -1) -> Array:
    """As Java's: what the matches divide, at most `limit` parts where it is above zero."""
    compiled = pattern(regex)
    found: list[str] = []
    at = 0
    for match in compiled.finditer(text):
        if limit > 0 and len(found) == limit - 1:
            break
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue  # nothing is divided by an empty match at an end
        found.append(text[at : match.start()])
        at = match.end()
    return (*found, text[at:])


def matches(text: str, regex: str, group: int = 1) -> Array | None:
    """A group of every match."""
    compiled = pattern(regex)
    if not 0 <= group <= compiled.groups:
        return None
    return tuple(match[group] or "" for match in compiled.finditer(text))


def _fits_texts(op: str) -> Fits:
    """Text, a regular expression, and a number."""

    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        for arg in args[1:2]:
            if isinstance(arg, Literal) and isinstance(arg.value, str):
                try:
                    pattern(arg.value)
                except re.error:
                    raise TypeMismatch(
                        f'{op} cannot read the regular expression "{arg.value}".', hint="It is one of Python's."
                    ) from None
        texts = [_text(op, arg, convert) for arg in args[:2]]
        return (*texts, *(_whole(op, arg, convert) for arg in args[2:])), array_of(STRING)

    return fits


# ---- maps -----------------------------------------------------------------------------------


def _fits_create_map(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if len(args) % 2:
        raise TypeMismatch("create_map takes keys and values in turn.", hint='For example create_map(lit("a"), "x").')
    if not args:
        return (), map_of(VOID, VOID)
    keys, key = _alike("create_map", args[::2], convert)
    values, value = _alike("create_map", args[1::2], convert)
    return tuple(x for pair in zip(keys, values) for x in pair), map_of(key, value)


def made_map(*values: Any) -> Pairs | None:
    """Keys and values in turn, and last the type of the keys."""
    *parts, key = values
    return _pairs(list(zip(parts[::2], parts[1::2])), known_type(key) if key else VOID)


def _pairs(pairs: Sequence[tuple[Any, Any]], key: Type) -> Pairs | None:
    return None if any(one is None for one, _ in pairs) else map_value(pairs, key)


def map_from_arrays(keys: Array, values: Array, kind: str) -> Pairs | None:
    return _pairs(list(zip(keys, values)), known_type(kind).element) if len(keys) == len(values) else None


def _fits_from_arrays(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    keys, values = (_array("map_from_arrays", arg, convert) for arg in args)
    return (keys, values), map_of(keys.type.element, values.type.element)


def map_from_entries(entries: Array, kind: str) -> Pairs | None:
    return None if None in entries else _pairs(entries, _key(known_type(kind).element))


def _fits_from_entries(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    entries = _array("map_from_entries", args[0], convert)
    if entries.type.element.name != "struct" or len(entries.type.element.parts) != 2:
        raise _wants("map_from_entries", "an array of structs of two fields", entries)
    (_, key), (_, value) = entries.type.element.parts
    return (entries,), map_of(key, value)


def map_concat(*values: Any) -> Pairs | None:
    *maps, kind = values
    return _pairs([pair for one in maps for pair in one], _key(known_type(kind)))


def _fits_map_concat(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    maps, kind = _alike("map_concat", [_map("map_concat", arg, convert) for arg in args], convert)
    return tuple(maps), kind


def found_in_map(pairs: Pairs, key: Any) -> Any:
    return next((value for one, value in pairs if _same_value(one, key)), None)


def has_key(pairs: Pairs, key: Any) -> bool:
    return any(_same_value(one, key) for one, _ in pairs)


def _fits_has_key(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    return _map_and_key("map_contains_key", args, convert), BOOLEAN


def _map_and_key(op: str, args: Sequence[Expr], convert: Conversions) -> tuple[Expr, Expr]:
    held = _map(op, args[0], convert)
    key = convert.common_type([_key(held.type), convert.written_type(args[1])])
    if key is None:
        raise TypeMismatch(
            f'{op} finds keys of type {_key(held.type)}, and "{args[1]}" is of type {args[1].type}.', hint=_MAKES
        )
    return convert.converted(held, map_of(key, _value(held.type))), convert.converted(args[1], key)


def str_to_map(text: str, between: str = ",", inside: str = ":") -> Pairs:
    pairs = []
    for entry in split(text, between):
        key, *value = split(entry, inside, 2)
        pairs.append((key, value[0] if value else None))
    return map_value(pairs, STRING)


def _fits_str_to_map(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    return tuple(_text("str_to_map", arg, convert) for arg in args), map_of(STRING, STRING)


# ---- structs --------------------------------------------------------------------------------


def _name_of(arg: Expr, at: int) -> str:
    """What Spark calls a field of an expression: its column's name, else col and its number from 1."""
    name = getattr(arg, "name", None)
    return name if isinstance(name, str) else f"col{at + 1}"


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
    return tuple(args), struct_of(*((_name_of(arg, i), convert.written_type(arg)) for i, arg in enumerate(args)))


def _fits_get_field(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    """A struct, or an array of structs, and a field's name."""
    held, name = args
    is_array = held.type.name == "array"
    inner = held.type.element if is_array else held.type
    if inner.name != "struct":
        raise _wants("get_field", "a struct", held)
    if not isinstance(name, Literal) or not isinstance(name.value, str):
        raise TypeMismatch(f'a field of a struct is named by plain text, and "{name}" is none.', hint=_MAKES)
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
        raise _wants("with_field", "a struct", held)
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
        found = _map_and_key("[...]", args, convert)
        return found, _value(found[0].type)
    if held.type.name == "struct" or (isinstance(key, Literal) and isinstance(key.value, str)):
        return _fits_get_field(args, convert)
    array = _array("[...]", held, convert)
    return (array, _whole("[...]", key, convert)), array.type.element


def item(held: Any, key: Any, kind: str) -> Any:
    if kind.startswith("map"):
        return found_in_map(held, key)
    return get_field(held, key, kind) if isinstance(key, str) else at_zero(held, key)


def _fits_element_at(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if args[0].type.name == "map":
        found = _map_and_key("element_at", args, convert)
        return found, _value(found[0].type)
    array = _array("element_at", args[0], convert)
    return (array, _whole("element_at", args[1], convert)), array.type.element


def element_at(held: Any, key: Any, kind: str) -> Any:
    return found_in_map(held, key) if kind.startswith("map") else at_one(held, key)


def _fits_size(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if args[0].type.name not in ("array", "map"):
        raise _wants("size", "an array or a map", args[0])
    return tuple(args), INT


def _row(
    name: str, least_most: tuple[int, int | None], fits: Fits, says: str, fn: Callable[..., Any], also: str = "",
    sees_null: bool = False, of_types: bool = False,
) -> Function:  # fmt: skip
    few, many = least_most
    takes = " ".join(["any"] * few + (["any*"] if many is None else ["any?"] * (many - few)))
    return Function(name, takes, "same", says, fn, also=also, sees_null=sees_null, of_types=of_types, fits=fits)


TABLE = (
    _row("array", (0, None), _fits_array, "an array of these values", lambda *x: x, "make_array", sees_null=True),
    _row("size", (1, 1), _fits_size, "how many elements, or entries", len, "cardinality array_size"),
    _row("element_at", (2, 2), _fits_element_at, "an element from 1 on, or a map's value", element_at,
         "try_element_at", of_types=True),
    _row("get", (2, 2), _of_array("get", _element, _whole), "an element from 0 on", at_zero),
    _row("get_item", (2, 2), _fits_item, "an element from 0 on, a map's value", item, of_types=True),
    _row("get_field", (2, 2), _fits_get_field, "a struct's field", get_field, of_types=True),
    _row("array_contains", (2, 2), _of_array_and_element("array_contains", _always(BOOLEAN)),
         "whether an element equals it", contains, "list_contains"),
    _row("array_position", (2, 2), _of_array_and_element("array_position", _always(LONG)),
         "where it is first, from 1; 0 where it is not", position, "list_position"),
    _row("array_remove", (2, 2), _of_array_and_element("array_remove", _same), "without the elements that equal it",
         lambda values, value: tuple(x for x in values if x is None or not _same_value(x, value))),
    _row("array_append", (2, 2), _of_array_and_element("array_append", _same), "with it at the end",
         lambda values, value: None if values is None else (*values, value), "list_append", sees_null=True),
    _row("array_prepend", (2, 2), _of_array_and_element("array_prepend", _same), "with it at the start",
         lambda values, value: None if values is None else (value, *values), sees_null=True),
    _row("array_insert", (3, 3), _of_array_and_element("array_insert", _same, 2), "with it at a position", inserted,
         sees_null=True),
    _row("array_distinct", (1, 1), _of_array("array_distinct", _same), "each element once", distinct,
         "list_distinct"),
    _row("array_compact", (1, 1), _of_array("array_compact", _same), "without nulls",
         lambda values: tuple(x for x in values if x is not None)),
    _row("array_union", (2, 2), _of_arrays("array_union", _same), "the elements of both, each once",
         lambda one, two: distinct(one + two)),
    _row("array_intersect", (2, 2), _of_arrays("array_intersect", _same), "the elements that are in both, each once",
         intersect),
    _row("array_except", (2, 2), _of_arrays("array_except", _same), "the elements that are only in the first, once",
         without),
    _row("arrays_overlap", (2, 2), _of_arrays("arrays_overlap", _always(BOOLEAN)), "whether an element is in both",
         overlap),
    _row("reverse", (1, 1), _fits_reverse, "from its end to its start", lambda x: x[::-1], "list_reverse"),
    _row("array_join", (2, 3), _fits_join, "the elements as one text, a delimiter between", join),
    _row("array_sort", (1, 1), _of_array("array_sort", _same), "in order, nulls last", in_order_nulls_last),
    _row("sort_array", (1, 2), _fits_sort, "in order, nulls first, or the other way round", in_order),
    _row("array_min", (1, 1), _of_array("array_min", _element), "the least element", least),
    _row("array_max", (1, 1), _of_array("array_max", _element), "the largest element", largest),
    _row("array_repeat", (2, 2), lambda args, convert: ((args[0], _whole("array_repeat", args[1], convert)),
         array_of(convert.written_type(args[0]))), "so many times", repeated, sees_null=True),
    _row("slice", (3, 3), _of_array("slice", _same, _whole, _whole), "so many elements from a position on", part,
         "array_slice"),
    _row("flatten", (1, 1), _fits_flatten, "the elements of the elements", flattened),
    _row("arrays_zip", (1, None), _fits_zip, "an array of structs, one field of each array", zipped),
    _row("sequence", (2, 3), _fits_sequence, "numbers or dates from one to another", sequence),
    _row("split", (2, 3), _fits_texts("split"), "the parts between matches of a regular expression", split),
    _row("regexp_extract_all", (2, 3), _fits_texts("regexp_extract_all"), "a group of every match", matches),
    _row("create_map", (0, None), _fits_create_map, "a map of keys and values in turn", made_map, "map",
         sees_null=True, of_types=True),
    _row("map_from_arrays", (2, 2), _fits_from_arrays, "a map of keys and of values", map_from_arrays, of_types=True),
    _row("map_from_entries", (1, 1), _fits_from_entries, "a map of pairs", map_from_entries, of_types=True),
    _row("map_concat", (1, None), _fits_map_concat, "the entries of all of them; the last of equal keys counts",
         map_concat, of_types=True),
    _row("map_keys", (1, 1), _of_map("map_keys", lambda kind: array_of(_key(kind))), "its keys, in order",
         lambda pairs: tuple(key for key, _ in pairs)),
    _row("map_values", (1, 1), _of_map("map_values", lambda kind: array_of(_value(kind))), "its values, by their keys",
         lambda pairs: tuple(value for _, value in pairs)),
    _row("map_entries", (1, 1), _of_map("map_entries", lambda kind: array_of(struct_of(*kind.parts))), "its pairs",
         lambda pairs: pairs),
    _row("map_contains_key", (2, 2), _fits_has_key, "whether it has the key", has_key),
    _row("str_to_map", (1, 3), _fits_str_to_map, "a map of keys and values in a text", str_to_map),
    _row("struct", (1, None), _fits_struct, "a struct of these values", lambda *x: x, sees_null=True),
    _row("named_struct", (0, None), _fits_named_struct, "a struct of names and values in turn",
         lambda *x: x[1::2], "struct_pack", sees_null=True),
    _row("with_field", (3, 3), _fits_with_field, "with a field more, or another one", with_field, sees_null=True,
         of_types=True),
)  # fmt: skip
