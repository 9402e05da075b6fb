"""What a cast makes of one value: the meaning of casts between types that are not nested.

Rule: a value that its new type cannot hold, and a text that does not read as one, is None.
"""

from __future__ import annotations

import decimal
import math
import re
import struct
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal

from ebbflow.columns import zones
from ebbflow.columns.ranges import BOUNDS, EPOCH, EXACT_DECIMALS
from ebbflow.columns.schema import NULL, PRECISION
from ebbflow.expressions.reference import Value, at_scale, fits, shown_in_zone
from ebbflow.limits import LARGEST_WORD

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FLOATING = re.compile(_NUMBER.pattern + "[dDfF]?", re.ASCII)  # as Java writes constants
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[dDfF]?", re.ASCII)
_BLANK = "".join(map(chr, range(33))) + "\x7f"  # what stands around a value in text, and does not count
_SPECIAL = re.compile(r"([+-]?)(inf|infinity|nan)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_CLOCK_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*([+-]\d.*|[A-Za-z].*)?")
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


def cast_value(x: Value, target: str, told: str | None = None) -> Value:
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
        found = int(text) if _INTEGER.fullmatch(text) else None
    elif x == 2.0**63 and isinstance(x, float):
        found = LARGEST_WORD  # to which Spark finds it equal
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
        exact = Decimal((x - EPOCH) // timedelta(microseconds=1)).scaleb(-6, EXACT_DECIMALS)
    elif isinstance(x, float):
        number = _to_double(x)
        if number is None or not math.isfinite(number):
            return None
        exact = Decimal(repr(number))
    else:
        exact = Decimal(x)
    if exact and exact.adjusted() > PRECISION:
        return None
    found = at_scale(exact, scale) if exact else at_scale(Decimal(0), scale)
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
        shown, years = shown_in_zone(x, zone)
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
            microseconds=int(EXACT_DECIMALS.multiply(x, 1_000_000) if isinstance(x, Decimal) else x * 1_000_000)
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
    found = _CLOCK_TIME.fullmatch(f"{clock}:00" if clock.isdigit() else clock)
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
