"""Reference: the meaning of each operation, as a plain Python function of one row's values.

Values are Python's: int, float, bool, str, bytes, date, datetime (without a zone; for a timestamp, in UTC), Decimal;
None is null. Calendar functions take the name of the zone; without one it is UTC, or the value is a timestamp_ntz,
which has none. These functions are slow and obvious on purpose: the interpreter is tested against them.

Rule: every function is total with one exception. A division by zero, a cast that fails or a result that its type cannot
hold is None; only a long that overflows, or a decimal that needs more than 38 digits, raises OverflowError.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ebbflow.columns import zones
from ebbflow.columns.ranges import EXACT_DECIMALS
from ebbflow.columns.schema import NULL, PRECISION
from ebbflow.limits import LARGEST_WORD

Value = Any
Asking = Callable[[], Value]  # an argument that is computed when it is asked for


def strict(fn: Callable[..., Value]) -> Callable[..., Value]:
    """Null when any argument is null."""

    def of_values(*values: Value) -> Value:
        return None if any(value is None for value in values) else fn(*values)

    of_values.__name__ = getattr(fn, "__name__", "of_values")
    return of_values


def fits(result: Value) -> Value:
    """A long or a decimal, if it has room; OverflowError if not.  Floats are never too large, only infinite."""
    if isinstance(result, Decimal):
        if len(result.as_tuple().digits) > PRECISION:
            raise OverflowError(f"{result} needs more than {PRECISION} digits")
        return result if result else result.copy_abs()  # what is rounded to nothing has no sign
    elif isinstance(result, int) and not NULL < result <= LARGEST_WORD:
        raise OverflowError(f"{result} does not fit a long")
    return result + 0.0 if isinstance(result, float) else result  # + 0.0: -0.0 becomes 0.0


# ---- arithmetic -----------------------------------------------------------------------------


def add(x: Value, y: Value, scale: int | None = None) -> Value:
    """scale: that a sum of decimals is rounded to, where its type has not all the digits behind the point."""
    return fits(_rounded_to(EXACT_DECIMALS.add(x, y), scale) if _are_decimals(x, y) else x + y)


def sub(x: Value, y: Value, scale: int | None = None) -> Value:
    return fits(_rounded_to(EXACT_DECIMALS.subtract(x, y), scale) if _are_decimals(x, y) else x - y)


def mul(x: Value, y: Value, scale: int | None = None) -> Value:
    return fits(_rounded_to(EXACT_DECIMALS.multiply(x, y), scale) if _are_decimals(x, y) else x * y)


def div(x: Value, y: Value, scale: int | None = None) -> Value:
    """Of decimals: the exact quotient, rounded once."""
    if y == 0:
        return None
    if scale is None:
        return fits(x / y)
    return fits(quotient(Fraction(x), Fraction(y), scale))


def quotient(x: Fraction, y: Fraction | int, scale: int) -> Decimal:
    """x / y with so many digits behind the point, halves away from zero."""
    units = x / y * 10**scale
    whole = math.floor(abs(units) + Fraction(1, 2))
    return Decimal(-whole if units < 0 else whole).scaleb(-scale, EXACT_DECIMALS)


def _are_decimals(x: Value, y: Value) -> bool:
    return isinstance(x, Decimal) or isinstance(y, Decimal)


def _rounded_to(x: Decimal, scale: int | None) -> Decimal:
    return x if scale is None else at_scale(x, scale)


def floordiv(x: Value, y: Value) -> Value:
    """Rounds down, as Python's //."""
    if y == 0:
        return None
    if isinstance(x, float):
        return fits(float("nan") if math.isinf(x) else x // y)
    if _are_decimals(x, y):
        return fits(math.floor(Fraction(x) / Fraction(y)))
    return fits(x // y)


def mod(x: Value, y: Value) -> Value:
    """Has the sign of x, as Spark's %; what Python's % gives is x - (x // y) * y."""
    if y == 0:
        return None
    if isinstance(x, float):
        return fits(float("nan") if math.isinf(x) else math.fmod(x, y))
    if _are_decimals(x, y):
        return fits(EXACT_DECIMALS.remainder(x, y))
    return fits(abs(x) % abs(y) * (-1 if x < 0 else 1))


def neg(x: Value) -> Value:
    return fits(EXACT_DECIMALS.minus(x) if isinstance(x, Decimal) else -x)


def absolute(x: Value) -> Value:
    return fits(x.copy_abs() if isinstance(x, Decimal) else abs(x))


def real(fn: Callable[[float], float]) -> Callable[[float], float]:
    """A function of the mathematics on every double: nan where it has no value, infinite where it overflows."""

    def of_float(x: float) -> float:
        try:
            return fits(float(fn(x)))
        except ValueError:
            return float("nan")
        except OverflowError:
            return float("inf")

    return of_float


def logarithm(fn: Callable[[float], float]) -> Callable[[float], float | None]:
    """Null at zero and below, as in Spark."""
    return lambda x: None if x <= 0 else fits(fn(x))


def power(x: float, y: float) -> float:
    """As Java's: a power of 1 that is nan or infinite has no value, which C and Python say is 1."""
    if (x == 1 and y != y) or (abs(x) == 1 and math.isinf(y)):
        return math.nan
    odd = math.isfinite(y) and y == math.floor(y) and y % 2 == 1
    try:
        return fits(math.pow(x, y))
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


def sign(x: Value) -> float:
    return math.nan if x != x else float((x > 0) - (x < 0))


_WORD = 2**64 - 1


def mixed(x: int | str | bytes) -> int:
    """A long that looks drawn at random and depends on nothing but the value.

    Whole numbers that differ have results that differ: each step can be undone.  Of text, or bytes, it mixes eight
    bytes after eight, filled up with zeros, and how many there were; two texts may have the same.
    """
    if isinstance(x, int):
        found = _mixed_word(x)
        return found if found != NULL else _mixed_word(NULL)  # which no long is left for
    text = x.encode() if isinstance(x, str) else x
    found = 0
    for at in range(0, len(text), 8):
        found = _mixed_word(found ^ int.from_bytes(text[at : at + 8].ljust(8, b"\0"), "big"))
    return mixed(found ^ len(text))


def _mixed_word(word: int) -> int:
    word &= _WORD
    for shift, factor in ((32, 0xD6E8FEB86659FD93), (29, 0xD6E8FEB86659FD93)):
        word = (word ^ word >> shift) * factor & _WORD
    word ^= word >> 32
    return word - 2**64 if word > LARGEST_WORD else word


def _long_or_null(x: float, rounded: Callable[[Value], int]) -> int | None:
    if isinstance(x, float) and not math.isfinite(x):
        return None
    result = rounded(x)
    return result if NULL < result <= LARGEST_WORD else None


def floor(x: Value) -> Value:
    return Decimal(math.floor(x)) if isinstance(x, Decimal) else _long_or_null(x, math.floor)


def ceil(x: Value) -> Value:
    return Decimal(math.ceil(x)) if isinstance(x, Decimal) else _long_or_null(x, math.ceil)


def rounded(x: Value, digits: int) -> Value:
    """Half away from zero, by the shortest decimal that reads as x: round(2.5) is 3.0, round(1.005, 2) is 1.01."""
    if isinstance(x, float):
        if not math.isfinite(x) or digits > 340:
            return x
        return fits(float(at_scale(Decimal(repr(x)), digits)))
    if isinstance(x, Decimal):
        scale = max(0, min(-int(x.as_tuple().exponent), digits))
        return fits(at_scale(at_scale(x, digits), scale)) if digits < scale or digits < 0 else fits(at_scale(x, scale))
    return fits(int(at_scale(Decimal(x), digits))) if digits < 0 else x


def at_scale(x: Decimal, scale: int) -> Decimal:
    if abs(scale) > 400:
        return Decimal(0)
    return x.quantize(
        Decimal(1).scaleb(-scale, EXACT_DECIMALS), context=decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)
    )


# ---- comparison and choice ------------------------------------------------------------------


def place_in_order(x: Value) -> Value:
    """What values of one type are ordered by: NaN equals itself and comes last, text goes by code points.

    Nested values, which are tuples, go by their parts, null first.
    """
    if isinstance(x, tuple):
        return tuple((False,) if part is None else (True, place_in_order(part)) for part in x)
    return (x != x, 0.0 if x != x else x) if isinstance(x, float) else x


def comparison(holds: Callable[[Value, Value], bool]) -> Callable[[Value, Value], bool]:
    return lambda x, y: holds(place_in_order(x), place_in_order(y))


def eq_null_safe(x: Value, y: Value) -> bool:
    if x is None or y is None:
        return x is y
    return bool(place_in_order(x) == place_in_order(y))


def both(*values: bool | None) -> bool | None:
    return False if any(v is False for v in values) else None if None in values else True


def either(*values: bool | None) -> bool | None:
    return True if any(v is True for v in values) else None if None in values else False


def both_in_turn(*parts: Asking) -> bool | None:
    """`both`, where what stands behind a false is not asked."""
    answers: list[bool | None] = []
    for part in parts:
        answers.append(part())
        if answers[-1] is False:
            return False
    return both(*answers)


def either_in_turn(*parts: Asking) -> bool | None:
    """`either`, where what stands behind a true is not asked."""
    answers: list[bool | None] = []
    for part in parts:
        answers.append(part())
        if answers[-1] is True:
            return True
    return either(*answers)


def is_in(x: Value, *options: Value) -> bool | None:
    return None if x is None else either(*(None if o is None else eq_null_safe(x, o) for o in options))


def coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def coalesce_in_turn(*parts: Asking) -> Value:
    """`coalesce`, where what stands behind a value is not asked."""
    return next((value for part in parts if (value := part()) is not None), None)


def when(*values: Value) -> Value:
    """condition, value, condition, value, ..., otherwise."""
    for condition, value in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return value
    return values[-1]


def when_in_turn(*parts: Asking) -> Value:
    """`when`, where a branch that is not taken is not asked."""
    for condition, value in zip(parts[:-1:2], parts[1::2], strict=True):
        if condition() is True:
            return value()
    return parts[-1]()


def greatest(*values: Value) -> Value:
    return max((v for v in values if v is not None), key=place_in_order, default=None)


def least(*values: Value) -> Value:
    return min((v for v in values if v is not None), key=place_in_order, default=None)


# ---- text -----------------------------------------------------------------------------------


def substr(x: Value, start: int, length: int) -> Value:
    """Positions count from 1; a negative start counts from the end; a window that sticks out is cut, as in Spark."""
    first = start - 1 if start > 0 else len(x) + start if start < 0 else 0
    return x[max(first, 0) : max(first + length, 0)] if length > 0 else x[:0]


def replace(x: str, search: str, by: str) -> str:
    return x.replace(search, by) if search else x


def trim(x: str, these: str = " ") -> str:
    return x.strip(these) if these else x


def ltrim(x: str, these: str = " ") -> str:
    return x.lstrip(these) if these else x


def rtrim(x: str, these: str = " ") -> str:
    return x.rstrip(these) if these else x


def concat(*values: Value) -> Value:
    if isinstance(values[0], tuple):
        return tuple(x for one in values for x in one)
    return (b"" if isinstance(values[0], bytes) else "").join(values)


# ---- dates and times ------------------------------------------------------------------------

CALENDAR_CYCLE = timedelta(days=zones.CYCLE_DAYS)  # of the calendar: 400 years


def part(name: str) -> Callable[..., int]:
    """year, month, day, hour, minute or second of a date (whose day begins at midnight) or a timestamp."""

    def of_moment(x: date, zone: str | None = None) -> int:
        shown, years = shown_in_zone(x, zone)
        found: int = getattr(shown, name, 0)
        return found + years if name == "year" else found

    return of_moment


def weekday(x: date, zone: str | None = None) -> int:
    return shown_in_zone(x, zone)[0].weekday()


def shown_in_zone(x: date, zone: str | None) -> tuple[date, int]:
    """What the clocks of a zone show, and how many years after that: Python's years end with 9999."""
    if zone is None or not isinstance(x, datetime):
        return x, 0
    found = zones.to_local(x, zone)
    if found is not None:
        return found, 0
    early = x.year < 5000
    found = zones.to_local(x + CALENDAR_CYCLE if early else x - CALENDAR_CYCLE, zone)
    assert found is not None, "400 years further in"
    return found, -400 if early else 400


def date_add(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:  # before the year 1 or after 9999
        return None


def date_diff(end: date, start: date) -> int:
    return (end - start).days


# ---- casts ----------------------------------------------------------------------------------
