"""How functions of nested values are typed: what they take, and what they give.

Rule: elements, keys and values of several arguments have one type before a function sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.columns.schema import LONG, STRING, VOID, Type, array_of
from ebbflow.errors import TypeMismatch
from ebbflow.expressions.signature import Conversions, Fits
from ebbflow.expressions.typed import Expr

Array = tuple[Any, ...]
Pairs = tuple[tuple[Any, Any], ...]
known_type = lru_cache(4096)(type_of)


def wanted_instead(op: str, wants: str, arg: Expr) -> TypeMismatch:
    return TypeMismatch(f'{op} takes {wants}, and "{arg}" is of type {arg.type}.', hint=MAKING_HINT)


MAKING_HINT = (
    'An array is F.array(...), a map F.create_map(...), a struct F.struct(...); .cast("array<long>") converts.'
)


def take_array(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type == VOID:
        return convert.converted(arg, array_of(VOID))
    if arg.type.name != "array":
        raise wanted_instead(op, "an array", arg)
    return arg


def take_map(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type.name != "map":
        raise wanted_instead(op, "a map", arg)
    return arg


def take_whole(op: str, arg: Expr, convert: Conversions) -> Expr:
    if not arg.type.is_integer and arg.type != VOID:
        raise wanted_instead(op, "a whole number", arg)
    return convert.converted(arg, LONG)


def take_text(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type not in (STRING, VOID):
        raise wanted_instead(op, "text", arg)
    return convert.converted(arg, STRING)


def common_part(op: str, args: Sequence[Expr], convert: Conversions) -> Type:
    found = convert.common_type([convert.written_type(arg) for arg in args])
    if found is None:
        told = ", ".join(f'"{arg}" is of type {arg.type}' for arg in args)
        raise TypeMismatch(f"{op} takes values of one type; {told}.", hint="Convert them with .cast.")
    return found


def take_alike(op: str, args: Sequence[Expr], convert: Conversions) -> tuple[list[Expr], Type]:
    kind = common_part(op, args, convert)
    return [convert.converted(arg, kind) for arg in args], kind


def of_array(op: str, gives: Callable[[Type], Type], *rest: Callable[[str, Expr, Conversions], Expr]) -> Fits:
    """An array, and then what these say."""

    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        first = take_array(op, args[0], convert)
        others = [fit(op, arg, convert) for fit, arg in zip(rest, args[1:])]
        return (first, *others), gives(first.type)

    return fits


def of_array_and_element(op: str, gives: Callable[[Type], Type], at: int = 1) -> Fits:
    """An array and a value of its elements' type, at this position; whole numbers elsewhere."""

    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        array, value = take_array(op, args[0], convert), args[at]
        kind = convert.common_type([array.type.element, convert.written_type(value)])
        if kind is None:
            raise TypeMismatch(
                f'{op} finds elements of type {array.type.element}, and "{value}" is of type {value.type}.',
                hint=MAKING_HINT,
            )
        found = list(args)
        found[0], found[at] = convert.converted(array, array_of(kind)), convert.converted(value, kind)
        for i in range(1, len(args)):
            if i != at:
                found[i] = take_whole(op, args[i], convert)
        return tuple(found), gives(array_of(kind))

    return fits


def of_arrays(op: str, gives: Callable[[Type], Type]) -> Fits:
    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        arrays, kind = take_alike(op, [take_array(op, arg, convert) for arg in args], convert)
        return tuple(arrays), gives(kind)

    return fits


def of_map(op: str, gives: Callable[[Type], Type]) -> Fits:
    def fits(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
        found = take_map(op, args[0], convert)
        return (found,), gives(found.type)

    return fits


def same_type(kind: Type) -> Type:
    return kind


def element_type(kind: Type) -> Type:
    return kind.element


def always(kind: Type) -> Callable[[Type], Type]:
    return lambda _: kind


def key_type(kind: Type) -> Type:
    return kind.parts[0][1]


def value_type(kind: Type) -> Type:
    return kind.parts[1][1]


def name_of(arg: Expr, at: int) -> str:
    """What Spark calls a field of an expression: its column's name, else col and its number from 1."""
    name = getattr(arg, "name", None)
    return name if isinstance(name, str) else f"col{at + 1}"
