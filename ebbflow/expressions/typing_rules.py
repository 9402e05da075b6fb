"""Typing rules: what an operation takes, converted as far as it needs, and the type of its result.

Rule: arguments that do not fit are refused with the operation's name, what it takes and what it was given; results have
the types that Spark gives them, of 38 digits at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from ebbflow.columns.like_patterns import read_pattern
from ebbflow.columns.ranges import EXACT_DECIMALS
from ebbflow.columns.schema import BINARY, BOOLEAN, DATE, DOUBLE, INT, LONG, PRECISION, STRING, TIMESTAMP, Type
from ebbflow.columns.schema import VOID as VOID
from ebbflow.errors import TypeMismatch
from ebbflow.expressions.conversions import (
    MOMENTS,
    bounded,
    common_type,
    converted,
    decimal,
    shown,
    whole_digits,
    with_article,
)
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.expressions.value_casts import cast_value, names_zone

Typed = tuple[tuple[Expr, ...], Type]
Typing = Callable[[str, Sequence[Expr]], Typed]


def refusal(op: str, args: Sequence[Expr], wants: str, hint: str | None = None) -> TypeMismatch:
    got = ", ".join(f"{shown(arg)} is {with_article(arg.type)}" for arg in args if arg.type != VOID)
    return TypeMismatch(f"{op} takes {wants}; {got}.", hint=hint)


def check_numbers(op: str, args: Sequence[Expr]) -> None:
    if all(arg.type.is_number or arg.type == VOID for arg in args):
        return
    types = [arg.type for arg in args]
    hint = 'Convert one side, for example with .cast("long").'
    if op == "add" and STRING in types:
        hint = "Text is put together with ebb.concat(a, b); a number in text becomes one with .cast."
    elif any(kind in MOMENTS for kind in types):
        hint = "Days are added with .dt.add_days(n) and counted with .dt.days_since(start)."
    raise refusal(op, args, "numbers", hint)


def type_alike(op: str, args: Sequence[Expr], wants: str = "values of one type") -> Typed:
    args = dates_from_text(args)
    target = common_type([type_beside(arg) for arg in args])
    if target is None:
        raise refusal(op, args, wants, "Convert one side with .cast, so that both have one type.")
    return tuple(converted(arg, target) for arg in args), target


def dates_from_text(args: Sequence[Expr]) -> Sequence[Expr]:
    """Text constants beside dates and timestamps are read as such: r.day >= "2024-02-29"."""
    moments = [arg.type for arg in args if arg.type in MOMENTS]
    target = common_type(moments)
    if not moments or target is None:
        return args
    found = []
    for arg in args:
        if isinstance(arg, Literal) and arg.type == STRING:
            value = cast_value(arg.value, str(target))
            if value is None:
                raise TypeMismatch(
                    f"{arg} does not read as a {target}.", hint='Write it as "2024-02-29" or "2024-02-29 13:05:00".'
                )
            arg = Literal(value, target) if _is_instant(arg, target) else converted(arg, target)
        found.append(arg)
    return found


def _is_instant(text: Literal, target: Type) -> bool:
    """Whether it is known without a zone what a text is as one of these."""
    return target != TIMESTAMP or names_zone(str(text.value))


def type_beside(arg: Expr) -> Type:
    """A constant whole number is an int where it fits one, as in PySpark; what is computed of ints is a long here."""
    small = isinstance(arg, Literal) and arg.type == LONG and isinstance(arg.value, int) and abs(arg.value) < 2**31
    return INT if small else arg.type


def type_arithmetic(op: str, args: Sequence[Expr]) -> Typed:
    check_numbers(op, args)
    target = common_type([arg.type for arg in args])
    assert target is not None
    if target.is_float:
        return tuple(converted(arg, DOUBLE) for arg in args), DOUBLE
    if target.is_integer or target == VOID:
        return tuple(converted(arg, LONG) for arg in args), LONG
    return _of_decimals(op, tuple(_in_digits(arg) for arg in args))


def type_division(op: str, args: Sequence[Expr]) -> Typed:
    check_numbers(op, args)
    decimals = any(arg.type.name == "decimal" for arg in args) and not any(arg.type.is_float for arg in args)
    return _of_decimals(op, tuple(_in_digits(arg) for arg in args)) if decimals else type_doubles(op, args)


def _of_decimals(op: str, args: tuple[Expr, ...]) -> Typed:
    """Arguments as they are, and the type that Spark gives the result."""
    (p, s), (q, t) = ((whole_digits(arg.type) + arg.type.scale, arg.type.scale) for arg in args)
    scale, whole = max(s, t), (p - s, q - t)
    alike = _at_one_scale(args)
    if max(arg.type.scale for arg in alike) < scale:  # a constant with zeros at its end, which count
        alike = args
    if op == "floordiv":
        return alike, LONG
    if op in ("add", "sub"):
        return alike, decimal(max(whole) + scale + 1, scale)
    if op == "mod":
        return alike, decimal(min(whole) + scale, scale)
    if op == "mul":
        return args, decimal(p + q + 1, s + t)
    assert op == "div", op
    scale = max(6, s + q + 1)
    return args, decimal(p - s + t + scale, scale)


def _in_digits(arg: Expr) -> Expr:
    """A constant whole number has the digits that it has; one that is null has one."""
    if arg.type == VOID:
        return Literal(None, Type("decimal", 1, 0))
    if isinstance(arg, Literal) and arg.type.is_integer and isinstance(arg.value, int):
        digits = len(str(abs(arg.value)))
        return Literal(cast_value(arg.value, f"decimal({digits},0)"), Type("decimal", digits, 0))
    return arg


def _at_one_scale(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Constants with the scale of the columns beside them, where they have no more digits than that."""
    scales = {arg.type.scale for arg in args if not isinstance(arg, Literal)}
    if len(scales) != 1 or not all(arg.type.is_exact for arg in args):
        return args
    (scale,) = scales
    return tuple(exactly(arg, scale) or arg if isinstance(arg, Literal) else arg for arg in args)


def exactly(arg: Literal, scale: int) -> Literal | None:
    """The same number with another scale; None where that is not possible."""
    if arg.type.scale == scale:
        return arg
    if arg.value is None:
        return Literal(None, Type("decimal", max(scale, 1), scale))
    units = Decimal(arg.value).scaleb(scale, EXACT_DECIMALS)  # type: ignore[arg-type]
    if units != units.to_integral_value() or units.copy_abs() >= 10**PRECISION:
        return None
    digits = max(len(str(abs(int(units)))), scale, 1)
    return Literal(Decimal(int(units)).scaleb(-scale, EXACT_DECIMALS), Type("decimal", digits, scale))


def rounds_to(op: str, args: Sequence[Expr], result: Type) -> tuple[object, ...]:
    """The scale of a decimal result, as an option, where the digits of the arguments do not tell it."""
    if result.name != "decimal" or op not in ("add", "sub", "mul", "div"):
        return ()
    scales = [arg.type.scale for arg in args]
    exact = sum(scales) if op == "mul" else max(scales)
    return () if op != "div" and result.scale == exact else (result.scale,)


def type_one_number(op: str, args: Sequence[Expr]) -> Typed:
    check_numbers(op, args)
    if args[0].type.name == "decimal":
        return tuple(args), args[0].type
    kind = DOUBLE if args[0].type.is_float else LONG
    return (converted(args[0], kind),), kind


def type_doubles(op: str, args: Sequence[Expr]) -> Typed:
    check_numbers(op, args)
    return tuple(converted(arg, DOUBLE) for arg in args), DOUBLE


def type_to_long(op: str, args: Sequence[Expr]) -> Typed:
    check_numbers(op, args)
    if args[0].type.name == "decimal":
        return tuple(args), bounded(args[0].type.precision - args[0].type.scale + 1, 0)
    return (converted(args[0], LONG) if args[0].type == VOID else args[0],), LONG


def type_round(op: str, args: Sequence[Expr]) -> Typed:
    check_numbers(op, args)
    number, digits = args[0], args[1]
    if not (isinstance(digits, Literal) and isinstance(digits.value, int)):
        raise TypeMismatch(
            f"round takes the number of digits as a plain number; got {shown(digits)}.", hint="For example round(x, 2)."
        )
    if number.type.name != "decimal":
        (number,), kind = type_one_number(op, [number])
        return (number, digits), kind
    whole = number.type.precision - number.type.scale + 1
    if digits.value < 0:
        return (number, digits), bounded(max(whole, 1 - digits.value), 0)
    scale = min(number.type.scale, digits.value)
    return (number, digits), bounded(whole + scale, scale)


def type_comparison(op: str, args: Sequence[Expr]) -> Typed:
    return _comparable(op, args, "two values of one type"), BOOLEAN


def _comparable(op: str, args: Sequence[Expr], wants: str) -> tuple[Expr, ...]:
    """Decimals stay as they are beside integers and decimals of another scale: none of them would have room."""
    if any(arg.type.name == "decimal" for arg in args) and all(arg.type.is_exact or arg.type == VOID for arg in args):
        exact = next(arg.type for arg in args if arg.type != VOID)
        return _at_one_scale(tuple(Literal(None, exact) if arg.type == VOID else arg for arg in args))
    return type_alike(op, args, wants)[0]


def type_booleans(op: str, args: Sequence[Expr]) -> Typed:
    if not all(arg.type in (BOOLEAN, VOID) for arg in args):
        hint = (
            'Compare it first, for example col("x") != 0; around & and | comparisons need brackets: (a > 1) & (b < 2).'
        )
        raise refusal(op, args, "conditions (booleans)", hint)
    return tuple(converted(arg, BOOLEAN) for arg in args), BOOLEAN


def type_any(op: str, args: Sequence[Expr]) -> Typed:
    return tuple(converted(arg, BOOLEAN) if arg.type == VOID else arg for arg in args), BOOLEAN


def type_is_nan(op: str, args: Sequence[Expr]) -> Typed:
    return type_doubles(op, args)[0], BOOLEAN


def type_is_in(op: str, args: Sequence[Expr]) -> Typed:
    """Constants with more digits than the column has are none of its values."""
    x, *options = _comparable(op, args, "choices of the column's type")
    if x.type.is_exact and not isinstance(x, Literal):
        exact = [exactly(each, x.type.scale) if isinstance(each, Literal) else each for each in options]
        options = [each for each in exact if each is not None]
    return (x, *options), BOOLEAN


def type_choice(op: str, args: Sequence[Expr]) -> Typed:
    return type_alike(op, args)


def type_when(op: str, args: Sequence[Expr]) -> Typed:
    conditions = type_booleans(op, args[:-1:2])[0]
    values, target = type_alike(op, [*args[1::2], args[-1]])
    paired = [side for pair in zip(conditions, values[:-1], strict=True) for side in pair]
    return (*paired, values[-1]), target


def type_texts(result: Type | None, *, binary: bool = False) -> Typing:
    """All arguments are text (or, where that makes sense, all are bytes); the result has their type unless given."""

    def rule(op: str, args: Sequence[Expr]) -> Typed:
        kind = common_type([arg.type for arg in args])
        if kind == VOID:
            kind = STRING
        if kind != STRING and not (binary and kind == BINARY):
            raise refusal(op, args, "text", 'Make it text with .cast("string").')
        return tuple(converted(arg, kind) for arg in args), result or kind

    return rule


def type_concat(op: str, args: Sequence[Expr]) -> Typed:
    """Text, bytes, or arrays."""
    if any(arg.type.name == "array" for arg in args):
        return type_alike(op, args, "arrays of one type, or text")
    return type_texts(None, binary=True)(op, args)


def type_like(op: str, args: Sequence[Expr]) -> Typed:
    (text,), _ = type_texts(None)(op, args[:1])
    pattern = args[1]
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise TypeMismatch(
            f"like takes its pattern as plain text; got {shown(pattern)}.",
            hint="Text of another column is looked for with .str.contains(column).",
        )
    if read_pattern(pattern.value) is None:
        raise TypeMismatch(
            f"like finds a backslash in {pattern} before something that needs none.",
            hint='It makes %, _ and itself plain: "100\\\\%" is like 100%.',
        )
    return (text, pattern), BOOLEAN


def type_substr(op: str, args: Sequence[Expr]) -> Typed:
    (text,), kind = type_texts(None, binary=True)(op, args[:1])
    numbers = as_integers(op, args[1:])
    return (text, *numbers), kind


def as_integers(op: str, args: Sequence[Expr]) -> tuple[Expr, ...]:
    if not all(arg.type.is_integer or arg.type == VOID for arg in args):
        raise refusal(op, args, "whole numbers here", 'Convert with .cast("long").')
    return tuple(converted(arg, LONG) for arg in args)


def type_mix(op: str, args: Sequence[Expr]) -> Typed:
    kind = args[0].type
    return (as_integers(op, args) if kind.is_integer else type_texts(LONG, binary=True)(op, args)[0]), LONG


def type_moment(*kinds: Type) -> Typing:
    def rule(op: str, args: Sequence[Expr]) -> Typed:
        arg = args[0] if args[0].type != VOID else converted(args[0], kinds[0])
        if arg.type not in kinds:
            raise refusal(
                op, args, "a date or a timestamp", 'Read text as one with .cast("date") or .cast("timestamp").'
            )
        return (arg,), INT

    return rule


def as_dates(op: str, args: Sequence[Expr]) -> tuple[Expr, ...]:
    args = [
        Literal(cast_value(a.value, "date"), DATE) if isinstance(a, Literal) and a.type == STRING else a for a in args
    ]
    if not all(arg.type in (*MOMENTS, VOID) for arg in args):
        raise refusal(op, args, "dates", 'Read text as one with .cast("date").')
    return tuple(converted(arg, DATE) for arg in args)


def type_date_add(op: str, args: Sequence[Expr]) -> Typed:
    return (*as_dates(op, args[:1]), *as_integers(op, args[1:])), DATE


def type_date_diff(op: str, args: Sequence[Expr]) -> Typed:
    return as_dates(op, args), INT


def type_never(op: str, args: Sequence[Expr]) -> Typed:
    raise AssertionError("casts are made by `cast` and `converted`")
