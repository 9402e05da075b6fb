"""Plain words: a single value of Python as its words, and a few words as Python's values, without Arrow.

Arrow converts columns; to ask it for a few values costs more than they do.  A value that needs a closer look (of
another type than its column's, out of range, no number) is left to `values_in`, which reads or refuses it.

Rule: the words and the values are those of `lanes_in` and `lanes_out`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ebbflow.columns.ranges import EPOCH, EXACT_DECIMALS, without_zone
from ebbflow.columns.schema import NULL, Type

BASE = 2**64 - 1  # of the two words of a wide decimal
GREATEST = 2**63 - 1
MANY_DIGITS, ALL_DIGITS = 40, 95  # in front of the point, and in all: no column has room for more
DAY_LENGTH, MICROSECOND_LENGTH = timedelta(days=1), timedelta(microseconds=1)
EPOCH_DATE = EPOCH.date()


def words_of(number: int) -> tuple[int, int]:
    """The two words of a number of at most 38 digits."""
    high, low = divmod(number, BASE)
    return high, low + 1 + NULL


def number_of(high: int, low: int) -> int:
    """The number of two words that are not null."""
    return high * BASE + (low - NULL - 1)


def exact_units(value: Any, kind: Type) -> int | None:
    """A decimal or whole number in units of a decimal column's last digit; None where it does not fit exactly."""
    if type(value) is int:
        units = value * 10**kind.scale
    elif isinstance(value, Decimal) and value.is_finite() and (not value or value.adjusted() <= MANY_DIGITS):
        if len(value.as_tuple().digits) > ALL_DIGITS:  # they would be rounded
            return None
        scaled = value.scaleb(kind.scale, EXACT_DECIMALS)
        units = int(scaled)
        if units != scaled:
            return None
    else:
        return None
    return units if -kind.most <= units <= kind.most else None


def word_of(value: Any, kind: Type) -> int | None:
    """The one word of a value that is neither null, text nor nested; None where it needs a closer look."""
    name, given = kind.name, type(value)
    if given is float:
        if name != "double" or value != value:
            return None
        (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
        return int(bits if bits >= 0 else bits ^ GREATEST)
    if given is bool:
        return int(value) if name == "boolean" else None
    if name == "decimal":
        return exact_units(value, kind)
    if given is date:
        return (value - EPOCH_DATE).days if name == "date" else None
    if given is datetime and kind.is_timestamp and (name == "timestamp" or value.tzinfo is None):
        try:
            return (without_zone(value) - EPOCH) // MICROSECOND_LENGTH
        except OverflowError:
            return None
    return None


def _double(word: int) -> float:
    found: float
    (found,) = struct.unpack("<d", struct.pack("<q", word if word >= 0 else word ^ GREATEST))
    return found


_VALUES: dict[str, Callable[[int], Any]] = {
    "double": _double,
    "boolean": bool,
    "date": lambda word: EPOCH_DATE + word * DAY_LENGTH,
    "timestamp": lambda word: EPOCH + word * MICROSECOND_LENGTH,
    "timestamp_ntz": lambda word: EPOCH + word * MICROSECOND_LENGTH,
}


def values_of(kind: Type, words: Sequence[int], seconds: Sequence[int] | None = None) -> list[Any] | None:
    """A few words as values; None for what needs a closer look.  seconds: the second words of wide decimals."""
    if kind.name == "decimal":
        numbers = words if seconds is None else [number_of(*both) for both in zip(words, seconds, strict=True)]
        unit = -kind.scale
        return [
            None if word == NULL else Decimal(number).scaleb(unit, EXACT_DECIMALS)
            for word, number in zip(words, numbers, strict=True)
        ]
    make = _VALUES.get(kind.name)
    if make is None:
        return None
    try:
        return [None if word == NULL else make(word) for word in words]
    except OverflowError:  # a day or a moment beyond the years 1 to 9999, which Arrow refuses in its own words
        return None
