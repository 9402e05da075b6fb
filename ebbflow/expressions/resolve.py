"""Resolving: an AST becomes a typed expression, against the columns of one collection.

Misspelt columns and types that do not fit are found here, while the user's line is still on the stack.

Rule: what `resolve` returns is fully typed and names only columns that exist.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from ebbflow.columns.ranges import EXACT_DECIMALS, without_zone
from ebbflow.columns.schema import BINARY, BOOLEAN, DATE, DOUBLE, LONG, NULL, PRECISION, STRING, TIMESTAMP, Schema, Type
from ebbflow.errors import NotAnExpression, TypeMismatch, UnknownColumn, did_you_mean
from ebbflow.expressions import ast as w
from ebbflow.expressions import guards
from ebbflow.expressions.conversions import cast, converted, decimal
from ebbflow.expressions.operations import VOID, as_written, typed
from ebbflow.expressions.typed import Column, Expr, Literal
from ebbflow.limits import LARGEST_WORD


def resolve(tree: w.Ast, schema: Schema, verb: str, of: str, ansi: bool = False) -> Expr:
    """`verb` and `of` are for the sentence: select looks for the column "x" in edges.

    ansi: a division by zero and a cast that fails refuse the step.
    """
    match tree:
        case w.Named(name):
            if name not in schema and is_field(name, schema):
                return _field_of(name, schema)
            if name not in schema:
                raise unknown_column(f'{verb} looks for the column "{name}" in {of}', name, schema.names)
            return Column(name, schema[name])
        case w.Constant(value):
            return literal(value)
        case w.Word(text):
            if text in schema:
                raise NotAnExpression(
                    f'"{text}" may be text here, and is also a column of {of}.',
                    hint=f'Say which: ebb.lit("{text}") or col("{text}").',
                )
            return literal(text)
        case w.Applied("cast", (arg,), (Type() as target,)):
            value = cast(resolve(arg, schema, verb, of, ansi), target)
            return guards.guarded(value) if ansi else value
        case w.Applied("cast", (arg,), (Type() as target, "try")):
            return cast(resolve(arg, schema, verb, of, ansi), target)
        case w.Applied(op, args, options):
            value = typed(op, as_written(op, [resolve(arg, schema, verb, of, ansi) for arg in args]))
            return guards.guarded(value) if ansi and options != ("try",) else value
        case w.Traced():
            raise NotAnExpression(
                f"{verb} is given a lambda where it has no row to call it with.", hint='Name the column: col("x").'
            )
        case w.Exploded():
            raise NotAnExpression(
                f"{verb} computes one value for each row, and {tree} makes several rows.",
                hint="It stands by itself in select and with_columns: with_columns(x=ebb.explode(...)), then use x.",
            )
        case w.Aggregated(op, _):
            raise NotAnExpression(
                f"{verb} computes a value for each row, and {tree} is one value for a group of rows.",
                hint=f"Aggregates stand in group_by(...).agg(n=ebb.{op}(...)); join the result back if rows need it.",
            )
        case w.Placed(op):
            raise NotAnExpression(
                f"{verb} is given {tree}, which is about a row's place among others, and not which others.",
                hint=f'Say it: ebb.{op}(...).over(ebb.Window.partition_by("k").order_by("t")).',
            )
        case w.Over():
            raise NotAnExpression(
                f"{verb} does not take window functions, and {tree} is one.",
                hint="Make it a column first: with_columns(place=...over(...)), then use the column.",
            )


def is_field(name: str, schema: Schema) -> bool:
    """Whether it is the whole name of a struct's field: column.field."""
    column = name.partition(".")[0]
    return column != name and column in schema and schema[column].name in ("struct", "array")


def _field_of(name: str, schema: Schema) -> Expr:
    column, _, rest = name.partition(".")
    found: Expr = Column(column, schema[column])
    for field in rest.split("."):
        found = typed("get_field", (found, Literal(field, STRING)))
    return found


def nested_too_deep() -> NotAnExpression:
    """Python follows calls inside calls only so far, and with it everything that walks through an expression."""
    return NotAnExpression(
        f"an expression is nested deeper than Python follows, which is {sys.getrecursionlimit():,} calls; "
        "selects in a row count as one.",
        hint="Let it follow further, sys.setrecursionlimit(20_000), or put it together in halves.",
    )


def with_type(expr: Expr, name: str) -> Expr:
    """The expression as a column of a collection, which has a type even if all its values are null."""
    if expr.type == VOID:
        raise TypeMismatch(
            f'the column "{name}" is only ever null, so its type is not known.',
            hint='Say it: ebb.lit(None).cast("long").',
        )
    return expr


def condition(expr: Expr, verb: str) -> Expr:
    if expr.type not in (BOOLEAN, VOID):
        raise TypeMismatch(
            f'{verb} takes conditions, and "{expr}" is of type {expr.type}.',
            hint='Compare it, for example col("x") != 0.',
        )
    return converted(expr, BOOLEAN)


def literal(value: object) -> Literal:
    """A plain value as a constant with its type."""
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, bool):
        return Literal(value, BOOLEAN)
    if isinstance(value, int):
        if not NULL < value <= LARGEST_WORD:
            raise TypeMismatch(
                f"the number {value} does not fit a long (64 bits).",
                hint="Use a float, or a Decimal of up to 38 digits.",
            )
        return Literal(int(value), LONG)
    if isinstance(value, float):
        return Literal(float(value) + 0.0 if value == value else math.nan, DOUBLE)
    if isinstance(value, str):
        return Literal(str(value), STRING)
    if isinstance(value, bytes | bytearray):
        return Literal(bytes(value), BINARY)
    if isinstance(value, datetime):
        return Literal(without_zone(value), TIMESTAMP)
    if isinstance(value, date):
        return Literal(value, DATE)
    if isinstance(value, Decimal):
        return _decimal(value)
    if value is None:
        return Literal(None, VOID)
    raise NotAnExpression(
        f"{value!r:.60}, a {type(value).__name__}, cannot be the value of a column.",
        hint="A value is a number, text, bytes, a boolean, a date, a datetime, a Decimal or None.",
    )


def _decimal(value: Decimal) -> Literal:
    if not value.is_finite():
        raise TypeMismatch(f"{value!r} is not a number that a decimal column can hold.", hint="Use float('nan').")
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(int(exponent), 0), scale, 1)
    if precision > PRECISION:
        raise TypeMismatch(f"the decimal {value} has more than {PRECISION} digits.", hint="Round it, or use a float.")
    return Literal(value.quantize(Decimal(1).scaleb(-scale), context=EXACT_DECIMALS), decimal(precision, scale))


def unknown_column(looks: str, name: object, names: Iterable[str], more: str = "") -> UnknownColumn:
    """looks: who looks for it and where, as the first half of the sentence."""
    names = tuple(names)
    return UnknownColumn(
        f"{looks}, which has: {', '.join(names) or 'no columns'}.",
        hint=did_you_mean(name, names) + more or "Name one of these.",
    )
