"""Functions of arrays, with Spark's meanings.

Rule: equal elements are those that `=` finds equal, nan equal to nan, and a null is equal to a null where elements are
told apart (distinct, union, except).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from ebbflow.columns.ranges import MICROSECONDS_A_DAY
from ebbflow.columns.schema import BOOLEAN, DATE, LONG, STRING, VOID, Type, array_of, struct_of
from ebbflow.errors import TypeMismatch
from ebbflow.expressions.calendar_functions import later
from ebbflow.expressions.nested_typing import (
    Array,
    name_of,
    take_alike,
    take_array,
    take_text,
    take_whole,
    wanted_instead,
)
from ebbflow.expressions.reference import place_in_order
from ebbflow.expressions.regular_expressions import pattern
from ebbflow.expressions.signature import Conversions, Fits
from ebbflow.expressions.typed import Expr, Literal

MOST_ELEMENTS = 1 << 24  # elements that sequence and array_repeat make at most


def fits_array(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if not args:
        return (), array_of(VOID)
    values, kind = take_alike("array", args, convert)
    return tuple(values), array_of(kind)


def same_value(one: Any, two: Any) -> bool:
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
    if any(x is not None and same_value(x, value) for x in values):
        return True
    return None if None in values else False


def overlap(one: Array, two: Array) -> bool | None:
    there = _keys_in(tuple(x for x in two if x is not None))
    if any(x is not None and (False, place_in_order(x)) in there for x in one):
        return True
    has_null = any(x is None for x in one) or any(x is None for x in two)
    return None if one and two and has_null else False


def position(values: Array, value: Any) -> int:
    return next((i for i, x in enumerate(values, 1) if x is not None and same_value(x, value)), 0)


def join(values: Array, delimiter: str, missing: str | None = None) -> str:
    shown = [missing if x is None else x for x in values]
    return delimiter.join(x for x in shown if x is not None)


def fits_join(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    array = take_array("array_join", args[0], convert)
    if array.type.element not in (STRING, VOID):
        array = convert.converted(array, array_of(STRING))
    return (array, *(take_text("array_join", arg, convert) for arg in args[1:])), STRING


def in_order(values: Array, rises: bool = True) -> Array:
    """Nulls first where it rises, last where it falls."""
    there = sorted((x for x in values if x is not None), key=place_in_order, reverse=not rises)
    nulls = (None,) * (len(values) - len(there))
    return (*nulls, *there) if rises else (*there, *nulls)


def in_order_nulls_last(values: Array) -> Array:
    there = sorted((x for x in values if x is not None), key=place_in_order)
    return (*there, *((None,) * (len(values) - len(there))))


def fits_sort(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    array = take_array("sort_array", args[0], convert)
    if len(args) > 1 and args[1].type != BOOLEAN:
        raise wanted_instead("sort_array", "whether the order rises, a boolean", args[1])
    return (array, *args[1:]), array.type


def least(values: Array) -> Any:
    return min((x for x in values if x is not None), key=place_in_order, default=None)


def largest(values: Array) -> Any:
    return max((x for x in values if x is not None), key=place_in_order, default=None)


def fits_reverse(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if args[0].type.name == "array":
        return tuple(args), args[0].type
    return (take_text("reverse", args[0], convert),), STRING


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


def fits_flatten(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    array = take_array("flatten", args[0], convert)
    if array.type.element.name != "array":
        raise wanted_instead("flatten", "an array of arrays", array)
    return (array,), array.type.element


def zipped(*arrays: Array) -> Array:
    longest = max(map(len, arrays), default=0)
    return tuple(tuple(x[i] if i < len(x) else None for x in arrays) for i in range(longest))


def fits_zip(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    arrays = [take_array("arrays_zip", arg, convert) for arg in args]
    fields = [(name_of(arg, i), array.type.element) for i, (arg, array) in enumerate(zip(args, arrays))]
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


def sequence_by(start: Any, stop: Any, months: int, days: int, micros: int, zone: str | None = None) -> Array | None:
    """Moments from one to another, both included, so far apart; null where the step leads away, or nowhere."""
    forth = max(months, days, micros) > 0
    if not (months or days or micros) or (forth and min(months, days, micros) < 0):
        return None
    longest = (31 * abs(months) + abs(days)) * MICROSECONDS_A_DAY + abs(micros)  # step: so many there are at least
    if abs(stop - start) // timedelta(microseconds=1) >= MOST_ELEMENTS * longest:
        raise OverflowError(f"a sequence of more than {MOST_ELEMENTS:,} elements")
    found: list[Any] = []
    at = start  # each is counted from the start: the last day of January, of February, of March
    while at is not None and (at <= stop if forth else at >= stop):
        found.append(at)
        n = len(found)
        at = later(start, n * months, n * days, n * micros, zone)
    return tuple(found) if found else None


def fits_sequence(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    step = [take_whole("sequence", arg, convert) for arg in args[2:]]
    if all(arg.type == DATE for arg in args[:2]):
        return (*args[:2], *step), array_of(DATE)
    kind = convert.common_type([convert.written_type(arg) for arg in args])
    ends = [take_whole("sequence", arg, convert) for arg in args[:2]]
    return (*ends, *step), array_of(kind if kind is not None and kind.is_integer else LONG)


def fits_sequence_by(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    """Two moments of one type, and a length of time."""
    first, last, *step = args
    if not (first.type == DATE or first.type.is_timestamp) or last.type != first.type:
        raise TypeMismatch(
            f"sequence by an interval is of two dates or two timestamps; it is given {first.type} and {last.type}.",
            hint="Cast one of them.",
        )
    return (first, last, *(take_whole("sequence_by", arg, convert) for arg in step)), array_of(first.type)


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


def fits_texts(op: str) -> Fits:
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
        texts = [take_text(op, arg, convert) for arg in args[:2]]
        return (*texts, *(take_whole(op, arg, convert) for arg in args[2:])), array_of(STRING)

    return fits
