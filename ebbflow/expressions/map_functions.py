"""Functions of maps, with Spark's meanings.

Rule: a map has each key once, and no null among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebbflow.columns.nested import map_value
from ebbflow.columns.schema import BOOLEAN, STRING, VOID, Type, map_of
from ebbflow.errors import TypeMismatch
from ebbflow.expressions.array_functions import same_value, split
from ebbflow.expressions.nested_typing import (
    MAKING_HINT,
    Array,
    Pairs,
    key_type,
    known_type,
    take_alike,
    take_array,
    take_map,
    take_text,
    value_type,
    wanted_instead,
)
from ebbflow.expressions.signature import Conversions
from ebbflow.expressions.typed import Expr


def fits_create_map(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if len(args) % 2:
        raise TypeMismatch("create_map takes keys and values in turn.", hint='For example create_map(lit("a"), "x").')
    if not args:
        return (), map_of(VOID, VOID)
    keys, key = take_alike("create_map", args[::2], convert)
    values, value = take_alike("create_map", args[1::2], convert)
    return tuple(x for pair in zip(keys, values) for x in pair), map_of(key, value)


def made_map(*values: Any) -> Pairs | None:
    """Keys and values in turn, and last the type of the keys."""
    *parts, key = values
    return _pairs(list(zip(parts[::2], parts[1::2])), known_type(key) if key else VOID)


def _pairs(pairs: Sequence[tuple[Any, Any]], key: Type) -> Pairs | None:
    return None if any(one is None for one, _ in pairs) else map_value(pairs, key)


def map_from_arrays(keys: Array, values: Array, kind: str) -> Pairs | None:
    return _pairs(list(zip(keys, values)), known_type(kind).element) if len(keys) == len(values) else None


def fits_from_arrays(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    keys, values = (take_array("map_from_arrays", arg, convert) for arg in args)
    return (keys, values), map_of(keys.type.element, values.type.element)


def map_from_entries(entries: Array, kind: str) -> Pairs | None:
    return None if None in entries else _pairs(entries, key_type(known_type(kind).element))


def fits_from_entries(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    entries = take_array("map_from_entries", args[0], convert)
    if entries.type.element.name != "struct" or len(entries.type.element.parts) != 2:
        raise wanted_instead("map_from_entries", "an array of structs of two fields", entries)
    (_, key), (_, value) = entries.type.element.parts
    return (entries,), map_of(key, value)


def map_concat(*values: Any) -> Pairs | None:
    *maps, kind = values
    return _pairs([pair for one in maps for pair in one], key_type(known_type(kind)))


def fits_map_concat(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    maps, kind = take_alike("map_concat", [take_map("map_concat", arg, convert) for arg in args], convert)
    return tuple(maps), kind


def found_in_map(pairs: Pairs, key: Any) -> Any:
    return next((value for one, value in pairs if same_value(one, key)), None)


def has_key(pairs: Pairs, key: Any) -> bool:
    return any(same_value(one, key) for one, _ in pairs)


def fits_has_key(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    return map_and_key("map_contains_key", args, convert), BOOLEAN


def map_and_key(op: str, args: Sequence[Expr], convert: Conversions) -> tuple[Expr, Expr]:
    held = take_map(op, args[0], convert)
    key = convert.common_type([key_type(held.type), convert.written_type(args[1])])
    if key is None:
        raise TypeMismatch(
            f'{op} finds keys of type {key_type(held.type)}, and "{args[1]}" is of type {args[1].type}.',
            hint=MAKING_HINT,
        )
    return convert.converted(held, map_of(key, value_type(held.type))), convert.converted(args[1], key)


def str_to_map(text: str, between: str = ",", inside: str = ":") -> Pairs:
    pairs = []
    for entry in split(text, between):
        key, *value = split(entry, inside, 2)
        pairs.append((key, value[0] if value else None))
    return map_value(pairs, STRING)


def fits_str_to_map(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    return tuple(take_text("str_to_map", arg, convert) for arg in args), map_of(STRING, STRING)
