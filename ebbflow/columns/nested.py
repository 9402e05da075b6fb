"""Nested values: arrays, maps and structs as one text each, which the pool holds.

A nested value is one word of a lane, the id of its text.  The text says nothing but the value, in one way only, so that
equal values are equal ids: joins, groups and distinct need nothing else.  Texts order as the values do: element by
element, null first, shorter arrays first, fields in their order, maps by their entries in the order of the keys.

Inside the engine's expressions a nested value is *plain*, a tuple that can be hashed: an array the tuple of its
elements, a struct that of its fields, a map that of its (key, value) pairs in the order of the keys.  People see and
give lists and dicts.

Rule: reading a written value gives the value; a text is UTF-8 of characters that order as its bytes do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, NoReturn

from ebbflow.columns.float_words import as_single, float_to_lane, lane_to_float
from ebbflow.columns.ranges import BOUNDS, EPOCH, EXACT_DECIMALS, without_zone
from ebbflow.columns.schema import NULL, Type, struct_of

EPOCH_DAY = EPOCH.date()
MICROSECOND = timedelta(microseconds=1)
NO_MORE, ABSENT, PRESENT = "\0", "\1", "\2"  # behind the last element; a null; in front of a value
ZERO, TEXT_END, ZERO_INSIDE = "\0", "\0\0", "\0\1"
SHIFT, WIDE_SHIFT = 1 << 63, 1 << 127

Write = Callable[[Any], str]
Read = Callable[[str, int], tuple[Any, int]]


def written(value: Any, kind: Type) -> str:
    """The text of a plain value that is not null, of any type: texts order as values do.

    >>> from ebbflow.columns.schema import LONG, array_of
    >>> written((1, None), array_of(LONG)) < written((1, 0), array_of(LONG)) < written((2,), array_of(LONG))
    True
    """
    return coder(kind)[0](value)


def read(text: str, kind: Type) -> Any:
    """The plain value of a text."""
    return coder(kind)[1](text, 0)[0]


def order_key(value: Any, kind: Type) -> str:
    """What sorts values of a type, null first."""
    return ABSENT if value is None else PRESENT + written(value, kind)


@lru_cache(4096)
def coder(kind: Type) -> tuple[Write, Read]:
    """How values of a type are written, and read from a position on, which then is the one behind them."""
    match kind.name:
        case "array":
            return _array(kind.element)
        case "struct":
            return _struct(kind)
        case "map":
            return _map(kind)
        case "string":
            return lambda value: value.replace(ZERO, ZERO_INSIDE) + TEXT_END, _read_text
        case "binary":
            return lambda value: bytes(value).hex() + TEXT_END, _read_bytes
        case "decimal":
            return _decimal(kind)
        case "double" | "float":
            return lambda value: f"{float_to_lane(value) + SHIFT:016x}", _read_word(lane_to_float)
        case "boolean":
            return lambda value: f"{int(value) + SHIFT:016x}", _read_word(bool)
        case "date":
            return lambda value: f"{(value - EPOCH_DAY).days + SHIFT:016x}", _read_word(
                lambda n: EPOCH_DAY + timedelta(days=n)
            )
        case "timestamp" | "timestamp_ntz":
            moment = _read_word(lambda n: EPOCH + n * MICROSECOND)
            return lambda value: f"{(value - EPOCH) // MICROSECOND + SHIFT:016x}", moment
    return lambda value: f"{int(value) + SHIFT:016x}", _read_word(int)


def _read_word(made: Callable[[int], Any]) -> Read:
    return lambda text, at: (made(int(text[at : at + 16], 16) - SHIFT), at + 16)


def _read_text(text: str, at: int) -> tuple[str, int]:
    end = text.index(ZERO, at)
    while text[end + 1] != ZERO:
        end = text.index(ZERO, end + 2)
    return text[at:end].replace(ZERO_INSIDE, ZERO), end + 2


def _read_bytes(text: str, at: int) -> tuple[bytes, int]:
    end = text.index(ZERO, at)
    return bytes.fromhex(text[at:end]), end + 2


def _decimal(kind: Type) -> tuple[Write, Read]:
    scale = kind.scale

    def write(value: Decimal) -> str:
        return f"{int(EXACT_DECIMALS.scaleb(value, scale)) + WIDE_SHIFT:032x}"

    def read_one(text: str, at: int) -> tuple[Decimal, int]:
        return EXACT_DECIMALS.scaleb(Decimal(int(text[at : at + 32], 16) - WIDE_SHIFT), -scale), at + 32

    return write, read_one


def _array(element: Type) -> tuple[Write, Read]:
    write_one, read_one = coder(element)

    def write(value: Iterable[Any]) -> str:
        return "".join([ABSENT if x is None else PRESENT + write_one(x) for x in value]) + NO_MORE

    def read_all(text: str, at: int) -> tuple[tuple[Any, ...], int]:
        found: list[Any] = []
        while (mark := text[at]) != NO_MORE:
            at += 1
            if mark == ABSENT:
                found.append(None)
            else:
                value, at = read_one(text, at)
                found.append(value)
        return tuple(found), at + 1

    return write, read_all


def _struct(kind: Type) -> tuple[Write, Read]:
    coders = [coder(part) for _, part in kind.parts]

    def write(value: Iterable[Any]) -> str:
        fields = zip(value, coders, strict=True)
        return "".join([ABSENT if x is None else PRESENT + code[0](x) for x, code in fields])

    def read_all(text: str, at: int) -> tuple[tuple[Any, ...], int]:
        found: list[Any] = []
        for _, read_one in coders:
            value = None
            if text[at] == ABSENT:
                at += 1
            else:
                value, at = read_one(text, at + 1)
            found.append(value)
        return tuple(found), at

    return write, read_all


def _map(kind: Type) -> tuple[Write, Read]:
    """As an array of pairs, in the order of the keys."""
    return _array(struct_of(*kind.parts))


def map_value(pairs: Iterable[tuple[Any, Any]], key: Type) -> tuple[tuple[Any, Any], ...]:
    """The plain map of pairs, in the order of their keys; of equal keys the last counts."""
    by_text = {written(one, key): (one, value) for one, value in pairs}
    return tuple(by_text[text] for text in sorted(by_text))


# ---- what people give and see ----------------------------------------------------------------


@dataclass
class Misfit(Exception):
    """A part of a value that does not fit its type: what it is, and why not."""

    value: object
    why: str


def shown_value(value: Any, kind: Type) -> Any:
    """A plain value as people see it: lists, and dicts for maps and structs."""
    if value is None or not kind.is_nested:
        return value
    if kind.name == "array":
        return [shown_value(x, kind.element) for x in value] if kind.element.is_nested else list(value)
    if kind.name == "struct":
        return {name: shown_value(x, part) for (name, part), x in zip(kind.parts, value, strict=True)}
    return {key: shown_value(x, kind.parts[1][1]) for key, x in value}


def arrow_value(value: Any, kind: Type) -> Any:
    """A plain value as Arrow takes it: a map is a list of pairs."""
    if value is None or not kind.is_nested:
        return value
    if kind.name == "array":
        return [arrow_value(x, kind.element) for x in value] if kind.element.is_nested else list(value)
    if kind.name == "struct":
        return {name: arrow_value(x, part) for (name, part), x in zip(kind.parts, value, strict=True)}
    (_, key), (_, item) = kind.parts
    return [(arrow_value(k, key), arrow_value(x, item)) for k, x in value]


def plain_value(value: Any, kind: Type) -> Any:
    """The plain value of what people give; Misfit where it is none of the type."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()  # a scalar of numpy's, known by its shape so that numpy is not loaded
    match kind.name:
        case "array":
            if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
                raise Misfit(value, "which is no list")
            return tuple(plain_value(x, kind.element) for x in value)
        case "map":
            return _plain_map(value, kind)
        case "struct":
            return _plain_struct(value, kind)
    return _SCALARS[kind.name](value, kind)


def _plain_map(value: Any, kind: Type) -> tuple[tuple[Any, Any], ...]:
    (_, key), (_, item) = kind.parts
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, str | bytes) or not isinstance(pairs, Iterable):
        raise Misfit(value, "which is no dict")
    found = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise Misfit(value, "which is no dict")
        if pair[0] is None:
            raise Misfit(value, "which has a key that is null")
        found.append((plain_value(pair[0], key), plain_value(pair[1], item)))
    return map_value(found, key)


def _plain_struct(value: Any, kind: Type) -> tuple[Any, ...]:
    names = [name for name, _ in kind.parts]
    if not isinstance(value, Mapping) and hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise Misfit(value, f'which has a field "{unknown[0]}" that {kind} has not')
        value = [value.get(name) for name in names]
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise Misfit(value, "which is no dict and no tuple")
    fields = list(value)
    if len(fields) != len(names):
        raise Misfit(value, f"which has {len(fields)} fields, and {kind} has {len(names)}")
    return tuple(plain_value(x, part) for x, (_, part) in zip(fields, kind.parts, strict=True))


def _misfit(value: Any, kind: Type, why: str = "") -> NoReturn:
    a = "an" if str(kind)[0] in "aeiou" else "a"
    raise Misfit(value, why or f"in which {value!r:.60} is not {a} {kind}")


def _whole(value: Any, kind: Type) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        _misfit(value, kind)
    bound = BOUNDS[kind.name]
    if not max(-bound, NULL + 1) <= int(value) < bound:
        _misfit(value, kind)
    return int(value)


def _real(value: Any, kind: Type) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _misfit(value, kind)
    return (as_single(value) if kind.name == "float" else float(value)) + 0.0


def _exact(value: Any, kind: Type) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        _misfit(value, kind)
    number = value if isinstance(value, Decimal) else Decimal(int(value))
    if not number.is_finite() or (number and number.adjusted() > 40) or len(number.as_tuple().digits) > 55:
        _misfit(value, kind)
    units = EXACT_DECIMALS.scaleb(number, kind.scale)
    if units != units.to_integral_value() or abs(int(units)) >= 10**kind.precision:
        _misfit(value, kind)
    return EXACT_DECIMALS.scaleb(Decimal(int(units)), -kind.scale)


def _boolean(value: Any, kind: Type) -> bool:
    if not isinstance(value, bool):
        _misfit(value, kind)
    return bool(value)


def _string(value: Any, kind: Type) -> str:
    if not isinstance(value, str):
        _misfit(value, kind)
    try:
        value.encode()
    except UnicodeEncodeError:
        _misfit(value, kind, "which holds half of a character")
    return str(value)


def _binary(value: Any, kind: Type) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        _misfit(value, kind)
    return bytes(value)


def _date(value: Any, kind: Type) -> date:
    if isinstance(value, datetime) or not isinstance(value, date):
        _misfit(value, kind)
    return value


def _moment(value: Any, kind: Type) -> datetime:
    if not isinstance(value, datetime) or getattr(value, "nanosecond", False):
        _misfit(value, kind)
    if type(value).__module__.startswith("pandas"):
        value = value.to_pydatetime(warn=False)  # type: ignore[attr-defined]
    if kind.name == "timestamp_ntz" and value.tzinfo is not None:
        _misfit(value, kind)
    try:
        return without_zone(value)
    except OverflowError:
        _misfit(value, kind)


_SCALARS: dict[str, Callable[[Any, Type], Any]] = {
    **dict.fromkeys(BOUNDS, _whole),
    **dict.fromkeys(("double", "float"), _real),
    "decimal": _exact,
    "boolean": _boolean,
    "string": _string,
    "binary": _binary,
    "date": _date,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _moment),
    "void": lambda value, kind: _misfit(value, kind),
}
