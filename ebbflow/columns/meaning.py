"""The plain meaning of each operation on one row's values.

Values are Python's: int, float, bool, str, bytes, date, datetime (without a zone, UTC), Decimal; None is null.  These
functions are slow and obvious on purpose: the vectorised interpreter is judged against them.

Rule: total but for one case.  A division by zero, a cast that fails or a result without a place in its type is None;
only a long (or an 18-digit decimal) that overflows raises, OverflowError.
"""

from __future__ import annotations

import decimal
import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from ebbflow.columns.schema import NULL

Value = Any
Asking = Callable[[], Value]  # an argument that is computed when it is asked for
MOST = 2**63 - 1
DIGITS = 18  # of a decimal
_EXACT = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)
EPOCH = datetime(1970, 1, 1)


def strict(fn: Callable[..., Value]) -> Callable[..., Value]:
    """Null when any argument is null."""

    def of_values(*values: Value) -> Value:
        return None if any(value is None for value in values) else fn(*values)

    of_values.__name__ = getattr(fn, "__name__", "of_values")
    return of_values


def fits(result: Value) -> Value:
    """A long or a decimal, if it has room; OverflowError if not.  Floats are never too large, only infinite."""
    if isinstance(result, Decimal):
        if len(result.as_tuple().digits) > DIGITS:
            raise OverflowError(f"{result} needs more than {DIGITS} digits")
    elif isinstance(result, int) and not NULL < result <= MOST:
        raise OverflowError(f"{result} does not fit a long")
    return result + 0.0 if isinstance(result, float) else result  # + 0.0: -0.0 becomes 0.0


# ---- arithmetic -----------------------------------------------------------------------------


def add(x: Value, y: Value) -> Value:
    return fits(_EXACT.add(x, y) if isinstance(x, Decimal) else x + y)


def sub(x: Value, y: Value) -> Value:
    return fits(_EXACT.subtract(x, y) if isinstance(x, Decimal) else x - y)


def mul(x: Value, y: Value) -> Value:
    return fits(_EXACT.multiply(x, y) if isinstance(x, Decimal) else x * y)


def div(x: float, y: float) -> float | None:
    return None if y == 0 else fits(x / y)


def floordiv(x: Value, y: Value) -> Value:
    """Rounds down, as Python's //."""
    if y == 0:
        return None
    if isinstance(x, float):
        return fits(float("nan") if math.isinf(x) else x // y)
    if isinstance(x, Decimal):
        return fits(math.floor(_EXACT.divide(x, y)))
    return fits(x // y)


def mod(x: Value, y: Value) -> Value:
    """Has the sign of x, as Spark's %; what Python's % gives is x - (x // y) * y."""
    if y == 0:
        return None
    if isinstance(x, float):
        return fits(float("nan") if math.isinf(x) else math.fmod(x, y))
    if isinstance(x, Decimal):
        return fits(_EXACT.remainder(x, y))
    return fits(abs(x) % abs(y) * (-1 if x < 0 else 1))


def neg(x: Value) -> Value:
    return fits(-x)


def absolute(x: Value) -> Value:
    return fits(abs(x))


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


def floor(x: Value) -> int | None:
    return _long_or_null(x, math.floor)


def ceil(x: Value) -> int | None:
    return _long_or_null(x, math.ceil)


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
        Decimal(1).scaleb(-scale, _EXACT), context=decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)
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


ANY, ONE = object(), object()  # what % and _ stand for in a pattern


def read_pattern(pattern: str) -> list[Any] | None:
    """The characters of a pattern, ANY for % and ONE for _; a backslash before one of these, or another, means it.

    None where a backslash stands before something else, or at the end.
    """
    found: list[Any] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            character = next(characters, "")
            if character not in ("%", "_", "\\"):
                return None
            found.append(character)
        else:
            found.append({"%": ANY, "_": ONE}.get(character, character))
    return found


@lru_cache(1000)
def _expression(pattern: str) -> re.Pattern[str]:
    parts = read_pattern(pattern) or []
    return re.compile("".join(".*" if p is ANY else "." if p is ONE else re.escape(p) for p in parts), re.DOTALL)


def like(x: str, pattern: str) -> bool:
    return _expression(pattern).fullmatch(x) is not None


def concat(*values: Value) -> Value:
    return (b"" if isinstance(values[0], bytes) else "").join(values)


# ---- dates and times ------------------------------------------------------------------------

MICROSECONDS_A_DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, counted from 1970 on
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * MICROSECONDS_A_DAY, (LAST_DAY + 1) * MICROSECONDS_A_DAY - 1


def part(name: str) -> Callable[[date], int]:
    """year, month, day, hour, minute or second of a date (whose day begins at midnight) or a timestamp."""
    return lambda x: getattr(x, name, 0)


def date_add(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:  # before the year 1 or after 9999
        return None


def date_diff(end: date, start: date) -> int:
    return (end - start).days


# ---- casts ----------------------------------------------------------------------------------

BOUNDS = {"byte": 2**7, "short": 2**15, "int": 2**31, "long": 2**63}
_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SPECIAL = re.compile(r"([+-]?)(inf|infinity|nan)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?")
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


def cast(x: Value, target: str) -> Value:
    """As Spark's try_cast: null where the value has no counterpart."""
    if x is None:
        return None
    if target in BOUNDS:
        return _to_integer(x, target)
    if target.startswith("decimal"):
        precision, scale = map(int, re.findall(r"\d+", target))
        return _to_decimal(x, precision, scale)
    return {
        "double": _to_double,
        "float": _to_float,
        "boolean": _to_boolean,
        "string": _to_string,
        "binary": lambda v: v.encode() if isinstance(v, str) else v,
        "date": _to_date,
        "timestamp": _to_timestamp,
    }[target](x)


def _to_integer(x: Value, target: str) -> int | None:
    if isinstance(x, str):
        text = x.strip()
        found = int(text) if _WHOLE.fullmatch(text) else None
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
        text = x.strip()
        if special := _SPECIAL.fullmatch(text):
            return float(special[0].lower())
        return fits(float(text)) if _NUMBER.fullmatch(text) else None
    if isinstance(x, datetime):
        return ((x - EPOCH) // timedelta(microseconds=1)) / 1_000_000
    return fits(float(x))


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
        text = x.strip().lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return bool(x)


def _to_decimal(x: Value, precision: int, scale: int) -> Decimal | None:
    if isinstance(x, str):
        text = x.strip()
        if not _NUMBER.fullmatch(text):
            return None
        exact = Decimal(text)
    elif isinstance(x, float):
        if not math.isfinite(x):
            return None
        exact = Decimal(repr(x))
    else:
        exact = Decimal(x)
    if exact and exact.adjusted() > DIGITS:
        return None
    found = _at_scale(exact, scale) + 0
    return found if abs(found) < Decimal(10) ** (precision - scale) else None


def _to_string(x: Value) -> str | None:
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
        text = f"{x:%H:%M:%S}" + (f".{x.microsecond:06}".rstrip("0") if x.microsecond else "")
        return f"{x.date().isoformat()} {text}"
    return f"{x:f}" if isinstance(x, Decimal) else x.isoformat() if isinstance(x, date) else str(x)


def _java_text(x: float) -> str:
    """A double as Spark writes it: 1.0, 1.0E10, NaN, Infinity."""
    if not math.isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    if x == 0 or 1e-3 <= abs(x) < 1e7:
        text = f"{Decimal(repr(x)):f}"
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(x)).normalize(decimal.Context(prec=40)).as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(digits) - 1}"


def _to_date(x: Value) -> date | None:
    if isinstance(x, datetime):
        return x.date()
    if isinstance(x, date):
        return x
    text = re.split(r"[ T]", x.strip(), maxsplit=1)[0]
    found = _DATE.fullmatch(text)
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None
    except ValueError:
        return None


def _to_timestamp(x: Value) -> datetime | None:
    if isinstance(x, datetime):
        return x
    if isinstance(x, date):
        return datetime(x.year, x.month, x.day)
    if isinstance(x, str):
        return _timestamp_of_text(x.strip())
    try:
        if isinstance(x, float):
            return EPOCH + timedelta(microseconds=math.floor(x * 1_000_000)) if math.isfinite(x) else None
        return EPOCH + timedelta(microseconds=int(x * 1_000_000))
    except OverflowError:
        return None


def _timestamp_of_text(text: str) -> datetime | None:
    day, _, clock = text.replace("T", " ", 1).partition(" ")
    start = _to_date(day)
    if start is None or not clock:
        return datetime(start.year, start.month, start.day) if start else None
    found = _CLOCK.fullmatch(clock.strip())
    if not found:
        return None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    try:
        moment = datetime(
            start.year, start.month, start.day, hour, minute, second, int((found[4] or "0").ljust(6, "0")[:6])
        )
        return moment - _offset(found[5])
    except (ValueError, OverflowError):
        return None


def _offset(zone: str | None) -> timedelta:
    if zone in (None, "Z", "UTC"):
        return timedelta()
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


def without_zone(moment: datetime) -> datetime:
    """The same moment in UTC, without a zone; one that names no zone is in UTC already."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
