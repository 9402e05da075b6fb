"""Functions of numbers, with Spark's meanings.

Rule: on doubles each is nan where the mathematics has no value, but for logarithms, which are null; on bits, whole
numbers are as wide as their type, bytes and shorts as ints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from ebbflow.columns.ranges import TWO_TO_64
from ebbflow.columns.schema import DOUBLE, INT, LONG, Type
from ebbflow.expressions import reference as m
from ebbflow.expressions.signature import Function
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.limits import LARGEST_WORD

Build = Callable[[str, Sequence[Expr]], Expr]


# ---- doubles --------------------------------------------------------------------------------


def cbrt(x: float) -> float:
    return math.copysign(math.cbrt(abs(x)), x)


def atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


def cot(x: float) -> float:
    return _inverse(math.tan(x), x)


def _inverse(of: float, x: float) -> float:
    return 1 / of if of else math.copysign(math.inf, x)


def sinh(x: float) -> float:
    return _signed_when_large(math.sinh, x)


def _signed_when_large(fn: Callable[[float], float], x: float) -> float:
    try:
        return fn(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def rint(x: float) -> float:
    return x if not math.isfinite(x) else float(round(x))


def log1p(x: float) -> float | None:
    return None if x <= -1 else math.log1p(x)


def log_of(base: float, x: float) -> float | None:
    """The logarithm to a base; null where one of the two is not above zero."""
    if base <= 0 or x <= 0:
        return None
    over, under = math.log(x), math.log(base)
    return over / under if under else math.nan if over == 0 or over != over else math.copysign(math.inf, over)


def factorial(n: int) -> int | None:
    return math.factorial(n) if 0 <= n <= 20 else None


def hypot(x: float, y: float) -> float:
    return math.nan if (x != x or y != y) and not (math.isinf(x) or math.isinf(y)) else math.hypot(x, y)


def width_bucket(x: float, low: float, high: float, many: int) -> int | None:
    """The number of the part of low ... high in which x lies, 0 below and many + 1 above."""
    if many <= 0 or many == LARGEST_WORD or low == high or not (math.isfinite(low) and math.isfinite(high)) or x != x:
        return None
    least, most = min(low, high), max(low, high)
    up = low < high
    if x < least:
        return 0 if up else many + 1
    if up and x >= most:
        return many + 1
    if not up and x > most:
        return 0
    return int(many * (x - low) / (high - low)) + 1


# ---- whole numbers --------------------------------------------------------------------------


def signed(word: int, bits: int = 64) -> int | None:
    """The number that these bits are; null for the one that stands for null."""
    word &= (1 << bits) - 1
    found = word - (1 << bits) if word >> (bits - 1) else word
    return None if found == m.NULL else found


def bits_of(kind: str) -> int:
    return 64 if kind == "long" else 32


def shiftleft(x: int, by: int, types: str) -> int | None:
    bits = bits_of(types.split()[0])
    return signed(x << by % bits, bits)


def shiftright(x: int, by: int, types: str) -> int:
    return x >> by % bits_of(types.split()[0])


def shiftrightunsigned(x: int, by: int, types: str) -> int | None:
    bits = bits_of(types.split()[0])
    return signed((x & ((1 << bits) - 1)) >> by % bits, bits)


def bit_count(x: int) -> int:
    return (int(x) & (TWO_TO_64 - 1)).bit_count()


def getbit(x: int, at: int, types: str) -> int | None:
    return (x >> at) & 1 if 0 <= at < {"byte": 8, "short": 16, "int": 32}.get(types.split()[0], 64) else None


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def conv(x: str, base: int, to: int) -> str | None:
    """A number in text from one base to another; unsigned, unless the second is negative."""
    if not (2 <= base <= 36 and 2 <= abs(to) <= 36):
        return None
    text = x.strip(" ").upper()
    negative, found = text[:1] == "-", 0
    if not text:
        return None
    for letter in text[negative:]:
        digit = _DIGITS.find(letter)
        if not 0 <= digit < base:
            break
        found = min(found * base + digit, TWO_TO_64 - 1)
    if negative and found:
        found = TWO_TO_64 - found if found < TWO_TO_64 // 2 or to > 0 else found
        found = TWO_TO_64 - 1 if to > 0 and found == 1 else found
    if to < 0 and found >= TWO_TO_64 // 2:
        return "-" + _in_base(TWO_TO_64 - found, -to)
    return _in_base(found, abs(to))


def _in_base(number: int, base: int) -> str:
    found = ""
    while number:
        number, digit = divmod(number, base)
        found = _DIGITS[digit] + found
    return found or "0"


# ---- rounding -------------------------------------------------------------------------------


def bround(x: Any, digits: int) -> Any:
    """Halves to the even neighbour, by the shortest decimal that reads as x."""
    if isinstance(x, float):
        if not math.isfinite(x) or digits > 340:
            return x
        return m.fits(float(_at(Decimal(repr(x)), digits, ROUND_HALF_EVEN)))
    if isinstance(x, Decimal):
        scale = max(0, min(-int(x.as_tuple().exponent), digits))
        return m.fits(_at(_at(x, digits, ROUND_HALF_EVEN), scale, ROUND_HALF_EVEN))
    return m.fits(int(_at(Decimal(x), digits, ROUND_HALF_EVEN))) if digits < 0 else x


def _at(x: Decimal, digits: int, how: str) -> Decimal:
    if abs(digits) > 400:
        return Decimal(0)
    return x.quantize(Decimal(1).scaleb(-digits), context=Context(prec=1000, rounding=how))


def _to_scale(how: str) -> Callable[[Any, int], Any]:
    def rounded(x: Any, digits: int) -> Any:
        if isinstance(x, int):
            return m.fits(int(_at(Decimal(x), digits, how))) if digits < 0 else x
        exact = Decimal(x)
        scale = max(0, min(-int(exact.as_tuple().exponent), digits))
        return m.fits(_at(_at(exact, min(digits, 60), how), scale, how))

    return rounded


def _rounded_type(args: Sequence[Expr]) -> Type:
    """As `round` has it: a digit more before the point, and no more behind it than asked for."""
    kind, digits = args[0].type, args[1]
    if kind.name != "decimal":
        return DOUBLE if kind.is_float else LONG
    wanted = digits.value if isinstance(digits, Literal) and isinstance(digits.value, int) else 0
    whole = kind.precision - kind.scale + 1
    if wanted < 0:
        return Type("decimal", min(max(whole, 1 - wanted), 38), 0)
    scale = min(kind.scale, wanted)
    return Type("decimal", min(whole + scale, 38), scale)


# ---- those put together of others -----------------------------------------------------------


def _pmod(of: Build, x: Expr, y: Expr) -> Expr:
    rest = of("mod", (x, y))
    zero = Literal(0.0, DOUBLE) if rest.type.is_float else Literal(0, LONG)
    return of("when", (of("lt", (rest, zero)), of("mod", (of("add", (rest, y)), y)), rest))


def _zero_if_null(of: Build, x: Expr) -> Expr:
    return of("coalesce", (x, Literal(0, INT)))


def _null_if_zero(of: Build, x: Expr) -> Expr:
    return of("when", (of("eq", (x, Literal(0, INT))), Literal(None, x.type), x))


def _attempted(fn: Callable[..., Any]) -> Callable[..., Any]:
    def of_values(*values: Any) -> Any:
        try:
            return fn(*values)
        except OverflowError:
            return None

    return of_values


# ---- the table ------------------------------------------------------------------------------


def _width(args: Sequence[Expr]) -> Type:
    return LONG if LONG in [arg.type for arg in args] else INT


def _first_width(args: Sequence[Expr]) -> Type:
    return _width(args[:1])


def _row(name: str, takes: str, gives: Any, says: str, fn: Callable[..., Any], also: str = "") -> Function:
    return Function(name, takes, gives, says, fn, also=also)


def _of_types(name: str, gives: Any, says: str, fn: Callable[..., Any], also: str = "") -> Function:
    return Function(name, "whole int", gives, says, fn, also=also, of_types=True)


def _real(name: str, says: str, fn: Callable[..., Any], also: str = "", takes: str = "double") -> Function:
    return Function(name, takes, "double", says, m.real(fn) if takes == "double" else fn, also=also)


NUMBER_FUNCTIONS = (
    _real("cbrt", "cube root", cbrt),
    _real("acos", "arc cosine", math.acos),
    _real("asin", "arc sine", math.asin),
    _real("atan", "arc tangent", math.atan),
    _real("cosh", "hyperbolic cosine", math.cosh),
    _real("sinh", "hyperbolic sine", sinh),
    _real("tanh", "hyperbolic tangent", math.tanh),
    _real("acosh", "inverse hyperbolic cosine", math.acosh),
    _real("asinh", "inverse hyperbolic sine", math.asinh),
    _real("atanh", "inverse hyperbolic tangent", atanh),
    _real("cot", "cotangent", cot),
    _real("sec", "secant", lambda x: 1 / math.cos(x)),
    _real("csc", "cosecant", lambda x: _inverse(math.sin(x), x)),
    _real("degrees", "an angle in degrees", math.degrees),
    _real("radians", "an angle in radians", math.radians),
    _real("expm1", "e to the power x, less 1", math.expm1),
    _real("rint", "the nearest whole number, halves to the even one, as a double", rint),
    _row("log1p", "double", "double", "logarithm of x + 1; null at -1 and below", log1p),
    _real("log_of", "logarithm of the second to the first as base", log_of, takes="double double"),
    _real("atan2", "the angle of a point", lambda y, x: math.atan2(y, x) + 0.0, takes="double double"),
    _real("hypot", "square root of x*x + y*y", hypot, takes="double double"),
    _row("factorial", "int", "long", "1 * 2 * ... * n; null below 0 and above 20", factorial),
    _row("width_bucket", "double double double int", "long", "the number of its part of a range", width_bucket),
    _row("bround", "number int!", _rounded_type, "to so many digits, halves to the even one", bround),
    _row("ceil_to", "exact int!", _rounded_type, "up, to so many digits", _to_scale(ROUND_CEILING)),
    _row("floor_to", "exact int!", _rounded_type, "down, to so many digits", _to_scale(ROUND_FLOOR)),
    _row("conv", "text int int", "string", "a number from one base to another", conv),
    _row("bin", "int", "string", "the bits of a whole number", lambda x: f"{x & (TWO_TO_64 - 1):b}"),
    _row("bitwise_and", "whole whole", _width, "the bits that both have", lambda x, y: x & y),
    _row("bitwise_or", "whole whole", _width, "the bits that one of them has", lambda x, y: x | y),
    _row("bitwise_xor", "whole whole", _width, "the bits in which they differ", lambda x, y: signed(x ^ y)),
    _row("bitwise_not", "whole", _first_width, "all bits turned round", lambda x: signed(~x)),
    _row("bit_count", "whole", "int", "how many bits are set", bit_count),
    _of_types("shiftleft", _first_width, "bits moved up", shiftleft),
    _of_types("shiftright", _first_width, "bits moved down, the sign stays", shiftright),
    _of_types("shiftrightunsigned", _first_width, "bits moved down", shiftrightunsigned),
    _of_types("getbit", "byte", "a bit, 0 or 1", getbit, "bit_get"),
    Function("pmod", "number number", "same", "the rest of x / y, not below zero", expands=_pmod),
    Function("zeroifnull", "number", "same", "0 where it is null", expands=_zero_if_null),
    Function("nullifzero", "number", "same", "null where it is 0", expands=_null_if_zero),
)  # fmt: skip
TRIED = {"try_add": ("add", _attempted(m.add)), "try_subtract": ("sub", _attempted(m.sub)),
         "try_multiply": ("mul", _attempted(m.mul)), "try_divide": ("div", _attempted(m.div)),
         "try_mod": ("mod", _attempted(m.mod))}  # fmt: skip
"""Arithmetic that is null where it has no value or no room, with the types of the operation beside it."""
