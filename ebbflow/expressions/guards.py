"""Values that refuse the step: what Spark raises an error for in its ANSI mode.

Expressions here are total, but for one thing: a long that overflows refuses the step, with its row, expression and
time.  So what is to be an error, as a division by zero, is such an overflow, in a branch of `when` that is taken only
for the rows it is an error for.  `Dataflow(ansi=True)` guards quotients and casts; a DataFrame does as its session.

Rule: a guarded expression has the type and the value of what it guards, or refuses the step.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.schema import DATE, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from ebbflow.expressions.conversions import cast, common_type
from ebbflow.expressions.operations import evaluate, typed
from ebbflow.expressions.typed import Call, Expr, Literal

OVERFLOWING = typed("mul", (Literal(2**62, LONG), Literal(4, LONG)))


def refusing(kind: Type) -> Expr:
    """An expression of a type that has no value."""
    if kind.name == "binary" or kind.is_nested:
        return Call("cast", (cast(OVERFLOWING, STRING),), kind, (str(kind),))
    if kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return cast(cast(OVERFLOWING, STRING), kind)
    return cast(OVERFLOWING, kind)


def value_of(expr: Expr) -> Expr | None:
    """What a guard guards; None if this is no guard."""
    match expr:
        case Call("when", (_, refuses, value)) if refuses == refusing(value.type):
            return value
    return None


def is_refusal(expr: Expr) -> bool:
    """Whether this is nothing but the branch of a guard that refuses."""
    return expr == refusing(expr.type)


def broken(expr: Expr, row: dict[str, Any]) -> Expr | None:
    """The first value in an expression that its guard refuses for a row, inside first."""
    match expr:
        case Call(_, args):
            for arg in args:
                found = broken(arg, row)
                if found is not None:
                    return found
            value = value_of(expr)
            if value is not None and evaluate(args[0], row) is True:
                return value
    return None


def guarded(value: Expr) -> Expr:
    """A quotient, a remainder or a cast that refuses the step where it would be null and its arguments are not."""
    match value:
        case Call("div" | "floordiv" | "mod", (left, right)):
            if isinstance(right, Literal) and right.value not in (None, 0):
                return value
            return unless(both(is_zero(right), is_there(left)), value)
        case Call("cast", (of,)) if not isinstance(of, Literal) and not cannot_fail(of.type, value.type):
            return unless(both(typed("is_null", (value,)), is_there(of)), value)
    return value


def cannot_fail(here: Type, target: Type) -> bool:
    return target == STRING or (here.is_number and target.is_float) or common_type([here, target]) == target


def unless(wrong: Expr, value: Expr) -> Expr:
    """The value, where the condition is not true; a row for which it is refuses the step."""
    return typed("when", (wrong, refusing(value.type), value))


def is_zero(expr: Expr) -> Expr:
    zero = Literal(0.0, expr.type) if expr.type.is_float else Literal(0, LONG)
    return typed("eq", (expr, zero))


def both(one: Expr, two: Expr) -> Expr:
    return typed("and", (one, two))


def is_there(expr: Expr) -> Expr:
    return typed("not", (typed("is_null", (expr,)),))


def divided(op: str, left: Expr, right: Expr) -> Expr:
    """A quotient or a remainder that has no value where the divisor is zero."""
    value = typed(op, (left, right))
    if isinstance(right, Literal) and right.value not in (None, 0):
        return value
    return unless(both(is_zero(right), is_there(left)), value)


def always_cast(expr: Expr, kind: Type) -> Expr:
    """A cast that has a value wherever what it is of has one."""
    value = cast(expr, kind)
    if isinstance(expr, Literal) and expr.value is not None:
        return value
    return unless(both(typed("is_null", (value,)), is_there(expr)), value)


def within(value: Expr, kind: Type, bound: int) -> Expr:
    """A whole number as one of a narrower type, which it has to fit: of -bound to bound - 1."""
    low, high = Literal(-bound, LONG), Literal(bound, LONG)
    outside = typed("or", (typed("lt", (value, low)), typed("ge", (value, high))))
    return cast(unless(outside, value), kind)
