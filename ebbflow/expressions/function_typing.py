"""How functions are typed: arguments fitted to the kinds that a signature names.

Rule: a function of the tables is typed by its row alone, unless the row says how it types its arguments itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from ebbflow.columns.schema import DATE, INT, LONG, STRING, TIMESTAMP, Type
from ebbflow.columns.schema import VOID as VOID
from ebbflow.errors import TypeMismatch
from ebbflow.expressions import calendar_functions
from ebbflow.expressions.conversions import MOMENTS, common_type, converted, shown
from ebbflow.expressions.regular_expressions import is_pattern
from ebbflow.expressions.signature import Function
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.expressions.typing_rules import (
    Typed,
    Typing,
    as_dates,
    as_integers,
    check_numbers,
    dates_from_text,
    refusal,
    type_beside,
    type_booleans,
    type_doubles,
    type_texts,
)


def type_by_signature(function: Function) -> Typing:
    def rule(op: str, args: Sequence[Expr]) -> Typed:
        if function.fits is not None:
            return function.fits(args, _CONVERSIONS)
        fitted = tuple(_fitted(function, i, arg) for i, arg in enumerate(args))
        problem = calendar_functions.format_problem(op, fitted) or _pattern_problem(op, fitted)
        if problem is not None:
            raise TypeMismatch(f"{op} cannot read {problem}.", hint=_PATTERN_HINT)
        if callable(function.gives):
            return fitted, function.gives(fitted)
        return fitted, fitted[0].type if function.gives == "same" else Type(function.gives)

    return rule


class _Conversions:
    """What functions of nested values ask for."""

    def common_type(self, types: Sequence[Type]) -> Type | None:
        return common_type(types)

    def converted(self, expr: Expr, target: Type) -> Expr:
        return converted(expr, target)

    def written_type(self, expr: Expr) -> Type:
        return type_beside(expr)


_CONVERSIONS = _Conversions()
_PATTERN_HINT = "Letters of formats are Spark's: yyyy-MM-dd HH:mm:ss; regular expressions are Python's, groups $1."


def _pattern_problem(op: str, args: Sequence[Expr]) -> str | None:
    text = args[1].value if op.startswith("regexp_") and isinstance(args[1], Literal) else None
    is_wrong = isinstance(text, str) and not is_pattern(text)
    return f'the regular expression "{text}"' if is_wrong else None


def _fitted(function: Function, at: int, arg: Expr) -> Expr:
    """An argument as its kind asks for it."""
    op, kind = function.name, function.kind(at)
    if function.is_plain(at) and not isinstance(arg, Literal):
        raise TypeMismatch(
            f"{op} takes its argument {at + 1} as a plain value; got {shown(arg)}.", hint="Write the value itself."
        )
    match kind:
        case "text":
            return type_texts(None)(op, [arg])[0][0]
        case "bytes":
            return type_texts(None, binary=True)(op, [arg])[0][0]
        case "coded":
            return as_integers(op, [arg])[0] if arg.type.is_integer else type_texts(None, binary=True)(op, [arg])[0][0]
        case "int":
            return as_integers(op, [arg])[0]
        case "whole":
            as_integers(op, [arg])
            return converted(arg, INT) if arg.type == VOID else arg
        case "double":
            return type_doubles(op, [arg])[0][0]
        case "number" | "exact":
            check_numbers(op, [arg])
            if kind == "exact" and arg.type.is_float:
                raise refusal(op, [arg], "whole numbers and decimals", 'Convert with .cast("decimal(18,4)").')
            return converted(arg, LONG) if arg.type == VOID else arg
        case "date":
            return as_dates(op, [arg])[0]
        case "moment" | "timestamp":
            return _as_moment(op, arg, kind)
        case "boolean":
            return type_booleans(op, [arg])[0][0]
    return converted(arg, STRING) if arg.type == VOID else arg


def _as_moment(op: str, arg: Expr, kind: str) -> Expr:
    if isinstance(arg, Literal) and arg.type == STRING:
        arg = dates_from_text([arg, Literal(None, TIMESTAMP)])[0]
    if arg.type == VOID or (kind == "timestamp" and arg.type == DATE):
        arg = converted(arg, TIMESTAMP)
    if arg.type not in MOMENTS:
        raise refusal(op, [arg], "a date or a timestamp", 'Read text as one with .cast("date") or .cast("timestamp").')
    return arg
