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
import re
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ebbflow.columns import zones
from ebbflow.columns.ranges import BOUNDS, EPOCH
from ebbflow.columns.schema import NULL, PRECISION

Value = Any
Asking = Callable[[], Value]  # an argument that is computed when it is asked for
MOST = 2**63 - 1
EXACT = decimal.Context(prec=120, rounding=decimal.ROUND_HALF_UP)


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
    elif isinstance(result, int) and not NULL < result <= MOST:
        raise OverflowError(f"{result} does not fit a long")
    return result + 0.0 if isinstance(result, float) else result  # + 0.0: -0.0 becomes 0.0


# ---- arithmetic -----------------------------------------------------------------------------


def add(x: Value, y: Value, scale: int | None = None) -> Value:
    """scale: that a sum of decimals is rounded to, where its type has not all the digits behind the point."""
    return fits(_rounded_to(EXACT.add(x, y), scale) if _are_decimals(x, y) else x + y)


def sub(x: Value, y: Value, scale: int | None = None) -> Value:
    return fits(_rounded_to(EXACT.subtract(x, y), scale) if _are_decimals(x, y) else x - y)


def mul(x: Value, y: Value, scale: int | None = None) -> Value:
    return fits(_rounded_to(EXACT.multiply(x, y), scale) if _are_decimals(x, y) else x * y)


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
    return Decimal(-whole if units < 0 else whole).scaleb(-scale, EXACT)


def _are_decimals(x: Value, y: Value) -> bool:
    return isinstance(x, Decimal) or isinstance(y, Decimal)


def _rounded_to(x: Decimal, scale: int | None) -> Decimal:
    return x if scale is None else _at_scale(x, scale)


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
        return fits(EXACT.remainder(x, y))
    return fits(abs(x) % abs(y) * (-1 if x < 0 else 1))


def neg(x: Value) -> Value:
    return fits(EXACT.minus(x) if isinstance(x, Decimal) else -x)


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
    return word - 2**64 if word > MOST else word


def _long_or_null(x: float, rounded: Callable[[Value], int]) -> int | None:
    if isinstance(x, float) and not math.isfinite(x):
        return None
    result = rounded(x)
    return result if NULL < result <= MOST else None


def floor(x: Value) -> Value:
    return Decimal(math.floor(x)) if isinstance(x, Decimal) else _long_or_null(x, math.floor)


def ceil(x: Value) -> Value:
    return Decimal(math.ceil(x)) if isinstance(x, Decimal) else _long_or_null(x, math.ceil)


def rounded(x: Value, digits: int) -> Value:
    """Half away from zero, by the shortest decimal that reads as x: round(2.5) is 3.0, round(1.005, 2) is 1.01."""
    if isinstance(x, float):
        if not math.isfinite(x) or digits > 340:
            return x
        return fits(float(_at_scale(Decimal(repr(x)), digits)))
    if isinstance(x, Decimal):
        scale = max(0, min(-int(x.as_tuple().exponent), digits))
        return (
            fits(_at_scale(_at_scale(x, digits), scale)) if digits < scale or digits < 0 else fits(_at_scale(x, scale))
        )
    return fits(int(_at_scale(Decimal(x), digits))) if digits < 0 else x


def _at_scale(x: Decimal, scale: int) -> Decimal:
    if abs(scale) > 400:
        return Decimal(0)
    return x.quantize(
        Decimal(1).scaleb(-scale, EXACT), context=decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)
    )


# ---- comparison and choice ------------------------------------------------------------------


def place_in_order(x: Value) -> Value:
    """What values of one type are ordered by: NaN equals itself and comes last, text goes by code points."""
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
    return (b"" if isinstance(values[0], bytes) else "").join(values)


# ---- dates and times ------------------------------------------------------------------------

CYCLE = timedelta(days=zones.CYCLE_DAYS)  # of the calendar: 400 years


def part(name: str) -> Callable[..., int]:
    """year, month, day, hour, minute or second of a date (whose day begins at midnight) or a timestamp."""

    def of_moment(x: date, zone: str | None = None) -> int:
        shown, years = _shown(x, zone)
        found: int = getattr(shown, name, 0)
        return found + years if name == "year" else found

    return of_moment


def weekday(x: date, zone: str | None = None) -> int:
    return _shown(x, zone)[0].weekday()


def _shown(x: date, zone: str | None) -> tuple[date, int]:
    """What the clocks of a zone show, and how many years after that: Python's years end with 9999."""
    if zone is None or not isinstance(x, datetime):
        return x, 0
    found = zones.to_local(x, zone)
    if found is not None:
        return found, 0
    early = x.year < 5000
    found = zones.to_local(x + CYCLE if early else x - CYCLE, zone)
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

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FLOATING = re.compile(_NUMBER.pattern + "[dDfF]?", re.ASCII)  # as Java writes constants
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[dDfF]?", re.ASCII)
_BLANK = "".join(map(chr, range(33))) + "\x7f"  # what stands around a value in text, and does not count
_SPECIAL = re.compile(r"([+-]?)(inf|infinity|nan)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*([+-]\d.*|[A-Za-z].*)?")
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


def cast(x: Value, target: str, told: str | None = None) -> Value:
    """As Spark's try_cast: null where the value has no counterpart.

    told: what neither the value nor the target says.  "float", where it is a 32-bit one, which has fewer digits as
    text; else the zone of a cast between an instant and what clocks show (a datetime becomes a timestamp only from a
    timestamp_ntz).
    """
    if x is None:
        return None
    if told == "float" and target == "string":
        return _java_text(x, single=True)
    zone = told
    if target in BOUNDS:
        return _to_integer(x, target)
    if target.startswith("decimal"):
        precision, scale = map(int, re.findall(r"\d+", target))
        return _to_decimal(x, precision, scale)
    return {
        "double": _to_double,
        "float": _to_float,
        "boolean": _to_boolean,
        "string": lambda v: _to_string(v, zone),
        "binary": lambda v: v.encode() if isinstance(v, str) else v,
        "date": lambda v: _to_date(v, zone),
        "timestamp": lambda v: _to_timestamp(v, zone),
        "timestamp_ntz": lambda v: _to_ntz(v, zone),
    }[target](x)


def _to_integer(x: Value, target: str) -> int | None:
    if isinstance(x, str):
        text = x.strip(_BLANK)
        found = int(text) if _WHOLE.fullmatch(text) else None
    elif x == 2.0**63 and isinstance(x, float):
        found = MOST  # to which Spark finds it equal
    elif isinstance(x, datetime):
        found = (x - EPOCH) // timedelta(seconds=1)
    elif isinstance(x, float) and not math.isfinite(x):
        found = None
    else:
        found = int(x)
    room = BOUNDS[target]
    return found if found is not None and NULL < found and -room <= found < room else None


def _to_double(x: Value) -> float | None:
    if isinstance(x, str):
        text = x.strip(_BLANK)
        if special := _SPECIAL.fullmatch(text):
            return float(special[0].lower())
        if sixteens := _HEXADECIMAL.fullmatch(text):
            return _of_sixteens(sixteens[1])
        return fits(float(text.rstrip("dDfF"))) if _FLOATING.fullmatch(text) else None
    if isinstance(x, datetime):
        return ((x - EPOCH) // timedelta(microseconds=1)) / 1_000_000
    return fits(float(x))


def _of_sixteens(text: str) -> float:
    try:
        return fits(float.fromhex(text))
    except OverflowError:
        return -math.inf if text[0] == "-" else math.inf


def _to_float(x: Value) -> float | None:
    """The nearest of the 32-bit floats, as a double."""
    found = _to_double(x)
    if found is None:
        return None
    try:
        return struct.unpack("f", struct.pack("f", found))[0] + 0.0
    except OverflowError:
        return math.copysign(math.inf, found)


def _to_boolean(x: Value) -> bool | None:
    if isinstance(x, str):
        text = x.strip(_BLANK).lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return bool(x)


def _to_decimal(x: Value, precision: int, scale: int) -> Decimal | None:
    if isinstance(x, str):
        text = x.strip(_BLANK)
        if not _NUMBER.fullmatch(text):
            return None
        try:
            exact = Decimal(text)
        except decimal.InvalidOperation:  # an exponent beyond all numbers
            return None
    elif isinstance(x, datetime):
        exact = Decimal((x - EPOCH) // timedelta(microseconds=1)).scaleb(-6, EXACT)
    elif isinstance(x, float):
        number = _to_double(x)
        if number is None or not math.isfinite(number):
            return None
        exact = Decimal(repr(number))
    else:
        exact = Decimal(x)
    if exact and exact.adjusted() > PRECISION:
        return None
    found = _at_scale(exact, scale) if exact else _at_scale(Decimal(0), scale)
    return fits(found if found else found.copy_abs()) if found.copy_abs() < 10 ** (precision - scale) else None


def _to_string(x: Value, zone: str | None) -> str | None:
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float):
        return _java_text(x)
    if isinstance(x, bytes):
        try:
            return x.decode()
        except UnicodeDecodeError:
            return None
    if isinstance(x, datetime):
        shown, years = _shown(x, zone)
        if years or not isinstance(shown, datetime):
            return None
        text = f"{shown:%H:%M:%S}" + (f".{shown.microsecond:06}".rstrip("0") if shown.microsecond else "")
        return f"{shown.date().isoformat()} {text}"
    return f"{x:f}" if isinstance(x, Decimal) else x.isoformat() if isinstance(x, date) else str(x)


def _java_text(x: float, single: bool = False) -> str:
    """A double (or a 32-bit float) as Java writes it from version 19 on: 1.0, 1.0E10, NaN, Infinity."""
    if not math.isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    digits = _shortest(x, single)
    if x == 0 or 1e-3 <= abs(x) < 1e7:
        text = f"{digits:f}"
        return text if "." in text else text + ".0"
    sign, found, exponent = digits.normalize(decimal.Context(prec=40)).as_tuple()
    text = "".join(map(str, found))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(found) - 1}"


def _shortest(x: float, single: bool) -> Decimal:
    """The fewest digits that read as x, but two where one would do and another is nearer: 4.9E-324."""
    shortest = _shortest_single(x) if single else Decimal(repr(x))
    if len(shortest.normalize().as_tuple().digits) > 1:
        return shortest
    two = decimal.Context(prec=2, rounding=decimal.ROUND_HALF_EVEN).create_decimal_from_float(x)
    reads = _to_float(float(two)) if single else float(two)
    return two if reads == x and two != shortest else shortest


def _shortest_single(x: float) -> Decimal:
    """needs: a finite 32-bit float."""
    texts = (f"{x:.{digits}e}" for digits in range(9))  # nine digits say every one of them
    return Decimal(next(text for text in texts if _to_float(float(text)) == x))


def _to_date(x: Value, zone: str | None = None) -> date | None:
    if isinstance(x, datetime):
        shown = x if zone is None else zones.to_local(x, zone)
        return shown.date() if shown is not None else None
    if isinstance(x, date):
        return x
    text = re.split(r"[ T]", x.strip(_BLANK), maxsplit=1)[0]
    found = _DATE.fullmatch(text)
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None
    except ValueError:
        return None


def _to_timestamp(x: Value, zone: str | None) -> datetime | None:
    if isinstance(x, datetime):
        return x if zone is None else zones.from_local(x, zone)
    if isinstance(x, date):
        return datetime(x.year, x.month, x.day) if zone is None else zones.day_start(x, zone)
    if isinstance(x, str):
        shown, named = _clock_of_text(x.strip(_BLANK))
        if shown is None:
            return None
        if named is not None:
            return zones.instant(shown, named)
        return shown if zone is None else zones.from_local(shown, zone)
    try:
        if isinstance(x, float):
            return EPOCH + timedelta(microseconds=math.floor(x * 1_000_000)) if math.isfinite(x) else None
        return EPOCH + timedelta(
            microseconds=int(EXACT.multiply(x, 1_000_000) if isinstance(x, Decimal) else x * 1_000_000)
        )
    except OverflowError:
        return None


def _to_ntz(x: Value, zone: str | None) -> datetime | None:
    if isinstance(x, datetime):
        return x if zone is None else zones.to_local(x, zone)
    if isinstance(x, date):
        return datetime(x.year, x.month, x.day)
    return _clock_of_text(x.strip(_BLANK))[0]  # a zone that the text names says nothing of what it shows


def names_zone(text: str) -> bool:
    """Whether a text that reads as a timestamp says of which zone it is."""
    return _clock_of_text(text.strip(_BLANK))[1] is not None


def _clock_of_text(text: str) -> tuple[datetime | None, tzinfo | None]:
    """What a text shows of a calendar and a clock, and the zone that it names."""
    day, *rest = re.split(r"[ T]", text, maxsplit=1)
    start = _to_date(day)
    if start is None or not rest:
        return datetime(start.year, start.month, start.day) if start else None, None
    clock = rest[0].strip(_BLANK)
    found = _CLOCK.fullmatch(f"{clock}:00" if clock.isdigit() else clock)
    if not found:
        return None, None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    named = zones.named(found[5]) if found[5] else None
    if found[5] and named is None:
        return None, None
    try:
        fraction = int((found[4] or "0").ljust(6, "0")[:6])
        return datetime(start.year, start.month, start.day, hour, minute, second, fraction), named
    except ValueError:
        return None, None
