"""Conversions: which type can become which, and the casts that a plan is given for them.

A cast is what the user asks for; a conversion is what an operation needs of its arguments, and nothing where the words
are the same.

Rule: where values of two types can be told apart, their words are not taken for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, FLOAT, LONG, PRECISION, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from ebbflow.columns.schema import VOID as VOID
from ebbflow.errors import TypeMismatch
from ebbflow.expressions import nested_casts
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.expressions.value_casts import cast_value

MOMENTS = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


BY_ZONE = {
    (TIMESTAMP, DATE), (TIMESTAMP, TIMESTAMP_NTZ), (TIMESTAMP, STRING),
    (DATE, TIMESTAMP), (TIMESTAMP_NTZ, TIMESTAMP), (STRING, TIMESTAMP),
}  # fmt: skip
"""The casts that depend on a zone."""


def decimal(precision: int, scale: int) -> Type:
    """Of so many digits as there can be, as Spark's: where there are too many, scale gives way to 6 at least."""
    if precision > PRECISION:
        precision, scale = PRECISION, max(PRECISION - (precision - scale), min(scale, 6))
    return Type("decimal", precision, scale)


def bounded(precision: int, scale: int) -> Type:
    """Of so many digits as there can be; the scale stays."""
    return Type("decimal", min(precision, PRECISION), min(scale, PRECISION))


def cast(expr: Expr, target: Type) -> Expr:
    """As the user asks for it; a cast that can never succeed is refused."""
    if not _castable(expr.type, target):
        raise TypeMismatch(
            f"cast cannot make {with_article(target)} of {shown(expr)}, {with_article(expr.type)}.",
            hint=_cast_hint(expr.type, target),
        )
    if expr.type == target:
        return expr
    if expr.type == VOID:
        return converted(expr, target)
    if expr.type.is_nested:
        return converted(expr, target) if target != STRING else _cast_parts(expr, target)
    return Call("cast", (expr,), target, _cast_options(expr.type, target))


def _cast_parts(expr: Expr, target: Type) -> Expr:
    options = (str(expr.type), str(target))
    if isinstance(expr, Literal):
        return Literal(nested_casts.cast(expr.value, *options), target)
    return Call("cast_parts", (expr,), target, options)


def _cast_options(here: Type, target: Type) -> tuple[str, ...]:
    return (str(target), "float") if here == FLOAT and target == STRING else (str(target),)


def converted(expr: Expr, target: Type) -> Expr:
    """As we need it; nothing to do where the words are the same."""
    here = expr.type
    if same_words(here, target) and here.precision <= target.precision:
        return expr if not here.is_nested or here == target else renamed(expr, target)
    if here.is_nested:
        return _cast_parts(expr, target)
    if isinstance(expr, Literal) and (here, target) not in BY_ZONE:
        try:
            return Literal(cast_value(expr.value, str(target)), target)
        except OverflowError as error:
            raise TypeMismatch(
                f"{shown(expr)} is to become {with_article(target)}: {error}.",
                hint=f"A decimal has at most {PRECISION} digits.",
            ) from error
    return Call("cast", (expr,), target, _cast_options(here, target))


def renamed(expr: Expr, target: Type) -> Expr:
    """A nested value under another type that has the same words: other names of fields, wider numbers."""
    if isinstance(expr, Literal):
        return Literal(expr.value, target)
    return Call("coalesce", (expr,), target)


def common_type(types: Sequence[Type]) -> Type | None:
    """The narrowest type that all of these convert to without loss of meaning; None if there is none."""
    known = [t for t in dict.fromkeys(types) if t != VOID]
    if len(known) <= 1:
        return known[0] if known else VOID
    if all(t.is_number for t in known):
        if any(t.is_float for t in known):
            return DOUBLE
        if all(t.is_integer for t in known):
            return LONG
        scale = max(t.scale for t in known)
        whole = max(whole_digits(t) for t in known)
        return Type("decimal", min(whole + scale, PRECISION), min(scale, max(PRECISION - whole, 0)))
    if all(t in MOMENTS for t in known):
        return TIMESTAMP if TIMESTAMP in known else TIMESTAMP_NTZ
    return _common_nested(known)


def _common_nested(types: Sequence[Type]) -> Type | None:
    """Part by part; the names of fields are those of the first."""
    first = types[0]
    if not first.is_nested or any((t.name, len(t.parts)) != (first.name, len(first.parts)) for t in types):
        return None
    parts = [common_type([t.parts[i][1] for t in types]) for i in range(len(first.parts))]
    if any(part is None for part in parts):
        return None
    return replace(first, parts=tuple((name, part) for (name, _), part in zip(first.parts, parts) if part))


def same_words(one: Type, two: Type) -> bool:
    """Whether equal values of the two types are equal words."""
    if one.name == two.name == "decimal":
        return one.scale == two.scale and one.is_wide == two.is_wide
    if one.is_nested and one.name == two.name and len(one.parts) == len(two.parts):
        pairs = zip(one.parts, two.parts)
        return all(x == VOID or same_words(x, y) for (_, x), (_, y) in pairs)  # of void there are only nulls
    return one == two or (one.is_integer and two.is_integer) or (one.is_float and two.is_float)


def shown(expr: Expr) -> str:
    return f'"{expr}"' if not isinstance(expr, Literal) else f"the value {expr}"


def with_article(kind: Type) -> str:
    return f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"


WHOLE_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 20}
"""The digits that Spark gives an integer beside a decimal."""


def whole_digits(t: Type) -> int:
    return t.precision - t.scale if t.name == "decimal" else WHOLE_DIGITS[t.name]


def _castable(here: Type, target: Type) -> bool:
    if here.is_nested or target.is_nested:
        return _castable_nested(here, target)
    if here == target or here == VOID or here == STRING:
        return here != STRING or target != VOID
    if target == STRING:
        return True
    if here.is_number or here == BOOLEAN:
        return target.is_number or target == BOOLEAN or (target == TIMESTAMP and here != BOOLEAN)
    if here in MOMENTS and target in MOMENTS:
        return True
    return here == TIMESTAMP and target.is_number


def _castable_nested(here: Type, target: Type) -> bool:
    """Part by part, where no part depends on a zone."""
    if here == VOID or here == target:
        return True
    if here.is_nested and target == STRING:
        return not any(part == TIMESTAMP for part in _scalars_in(here))
    if here.name != target.name or len(here.parts) != len(target.parts):
        return False
    pairs = [(x, y) for (_, x), (_, y) in zip(here.parts, target.parts)]
    return all(_castable(x, y) and (x, y) not in BY_ZONE for x, y in pairs)


def _scalars_in(kind: Type) -> list[Type]:
    return [each for _, part in kind.parts for each in _scalars_in(part)] if kind.is_nested else [kind]


def _cast_hint(here: Type, target: Type) -> str:
    if target.is_nested or here.is_nested:
        return "Nested types are cast part by part; text is read with ebb.from_json(text, schema)."
    if here == TIMESTAMP_NTZ and target.is_number:
        return 'It is no instant; that of the program\'s zone is .cast("timestamp").'
    if here == DATE:
        return "Days between two dates are end.dt.days_since(start); parts are .dt.year(), .dt.month(), .dt.day()."
    return f'Through text: .cast("string").cast("{target}").'
