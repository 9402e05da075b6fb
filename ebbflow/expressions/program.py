"""Programs: typed expressions translated to words, which kernels run on rows.

Operations that need more of a text than its id or its order (lower, a cast from text) are not written; `columnwise`
computes them in Python, once per distinct value, and gives them to a program as one more column.

Rule: a program gives for every row what `operations.evaluate` gives; only an integer or decimal overflow is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ebbflow.columns.float_words import NAN
from ebbflow.columns.ranges import FIRST_DAY, LAST_DAY, MICROSECONDS_A_DAY
from ebbflow.columns.schema import BOOLEAN, DIGITS, NULL, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.expressions import opcodes as o
from ebbflow.expressions import operations
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.expressions.write_casts import write_cast
from ebbflow.expressions.write_functions import write_function
from ebbflow.expressions.write_wide import write_wide_call
from ebbflow.expressions.writer import NO_OPERAND, NotInside, Operand, Writer, word


def program(
    exprs: Sequence[Expr], condition: Expr | None, schema: Schema, pool: Pool
) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """The words that compute `exprs` of each row for which `condition` holds; None where words are not enough."""
    outputs = sum(expr.type.words for expr in exprs)
    if outputs > o.REGISTERS:
        return None
    writing = Writer(schema, pool, outputs, written)
    try:
        if condition is not None:
            writing.step(o.FILTER, writing.operand(condition), into=0)
        at = 0
        for expr in exprs:
            writing.output(expr, at)
            at += expr.type.words
    except NotInside:
        return None
    return writing.words()


def written(w: Writer, call: Call, into: int | None) -> Operand:
    """The steps of a call, and where its result is: in the register `into`, where one is named."""
    kind = call.args[0].type if call.args else call.type
    if call.op in operations.IN_TURN and any(map(may_overflow, call.args[1:])):
        return write_in_turn(w, call, into)
    if call.op == "is_in":
        return write_is_in(w, call, into)
    if call.type.is_wide or any(arg.type.is_wide for arg in call.args):
        return write_wide_call(w, call, into)
    if call.op in ("greatest", "least", "coalesce", "and", "or"):
        larger, smaller = (o.TEXT_LARGER, o.TEXT_SMALLER) if call.type.is_pooled else (o.LARGER, o.SMALLER)
        op = {"greatest": larger, "least": smaller, "coalesce": o.COALESCE, "and": o.AND, "or": o.OR}[call.op]
        return w.chain(op, [w.operand(arg) for arg in call.args], into, w.pool_word())
    if call.op == "cast":
        zone = call.options[1:] if operations.depends_on_zone(call) else ()
        return write_cast(w, w.operand(call.args[0]), kind, call.type, zone, into)
    if call.op == "round":
        return write_round(w, call, into)
    if call.op == "when":
        *pairs, found = [w.operand(arg) for arg in call.args]
        for i in range(len(pairs) - 2, -1, -2):
            found = w.step(o.SELECT, pairs[i], pairs[i + 1], found, into=into if i == 0 else None)
        return found
    args = [w.operand(arg) for arg in call.args]
    if call.op in operations.FUNCTIONS:
        return write_function(w, call, args, into)
    if len({arg.type.scale for arg in call.args}) > 1 or (call.type.name == "decimal" and call.op in DECIMAL_STEPS):
        return write_decimals(w, call, args, into)
    if call.op in o.COMPARISON_STEPS:
        if kind.is_pooled and call.op not in ("eq", "ne"):
            args = [w.step(o.TEXT_COMPARE, *args, w.pool_word()), word(0)]  # type: ignore[call-arg, arg-type]
        return w.step(o.COMPARISON_STEPS[call.op], *args, into=into)
    if kind.is_float or call.type.is_float:
        if call.op in FLOAT_STEPS:
            return w.step(FLOAT_STEPS[call.op], *args, into=into)
    elif kind.name == "decimal" and call.op in ("floor", "ceil"):
        unit = word(10**kind.scale)
        return w.step(o.FLOORDIV if call.op == "floor" else o.CEILDIV, args[0], unit, into=into)
    elif call.op in ("floor", "ceil"):
        return w.step(o.COPY, args[0], into=into)
    elif call.op == "neg":
        return w.step(o.SUB, word(0), args[0], into=into)
    elif call.op in INT_STEPS:
        return w.step(INT_STEPS[call.op], *args, into=into)
    return write_special(w, call, args, kind, into)


def write_in_turn(w: Writer, call: Call, into: int | None) -> Operand:
    """An operation that passes over the steps of arguments nobody asks for, where these might overflow.

    What is known after it is what was computed in any case, and not where the answer now is.
    """
    into = (w.two() if call.type.is_wide else w.register()) if into is None else into
    ends: list[int] = []
    if call.op == "when":
        *pairs, last = call.args
        sure: dict[Expr, Operand] | None = None
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
            holds = w.operand(condition)
            here = dict(w.known)
            sure = here if sure is None else sure
            passed = w.skip(o.SKIP_UNLESS, holds, word(1))
            w.output(value, into)
            ends.append(w.skip(o.SKIP_IF, word(0), word(0)))
            w.lands(passed)
            w.known = dict(here)
        w.output(last, into)
    else:
        over, decided, op = SHORT_CIRCUITS[call.op]
        w.output(call.args[0], into)
        sure = w.known = {expr: at for expr, at in w.known.items() if at != Operand(into)}
        for arg in call.args[1:]:
            ends.append(w.skip(over, Operand(into), word(decided)))
            w.known = dict(w.known)
            if op == o.COPY:
                w.output(arg, into)
            else:
                w.step(op, Operand(into), w.operand(arg), into=into)
    for end in ends:
        w.lands(end)
    w.known = sure or {}
    return Operand(into)


def write_special(w: Writer, call: Call, args: list[Operand], kind: Type, into: int | None) -> Operand:
    """What has steps of its own: tests for null and nan, lengths, parts of dates."""
    if call.op in operations.CLOCKS:
        args = [w.clock(o.TO_LOCAL, args[0], call.options)]
    match call.op:
        case "eq_null_safe":
            return w.step(o.EQ_NULL_SAFE, *args, into=into)
        case "not":
            return w.step(o.EQ, args[0], word(0), into=into)
        case "is_null":
            return w.step(o.IS_NULL, args[0], into=into)
        case "is_nan":
            return w.step(o.EQ_NULL_SAFE, args[0], word(NAN), into=into)
        case "length":
            return w.step(o.TEXT_SIZE if kind.name == "binary" else o.TEXT_LENGTH, args[0], c=w.pool_word(), into=into)
        case "mix":
            return w.step(o.TEXT_MIX if kind.is_text else o.MIX, args[0], c=w.pool_word(), into=into)
        case "year" | "month" | "day":
            days = w.days(args[0], kind)
            return w.step({"year": o.YEAR_OF, "month": o.MONTH_OF, "day": o.DAY_OF}[call.op], days, into=into)
        case "hour" | "minute" | "second" if kind.name == "date":
            return w.step(o.MODULO, args[0], word(1), into=into)  # 0, and null for null
        case "hour" | "minute" | "second":
            unit = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}[call.op]
            cycle = MICROSECONDS_A_DAY if call.op == "hour" else unit * 60
            return w.step(o.FLOORDIV, w.step(o.MODULO, args[0], word(cycle)), word(unit), into=into)
        case "weekday":
            shifted = w.step(o.ADD, w.days(args[0], kind), word(3))  # 1970-01-01 was a Thursday
            return w.step(o.MODULO, shifted, word(7), into=into)
        case "date_add":
            reach = LAST_DAY - FIRST_DAY
            days = w.step(o.NULL_OUTSIDE, args[1], word(-reach), word(reach))
            return w.step(o.NULL_OUTSIDE, w.step(o.ADD, args[0], days), word(FIRST_DAY), word(LAST_DAY), into=into)
        case "date_diff":
            return w.step(o.SUB, *args, into=into)
    raise NotInside


def write_is_in(w: Writer, call: Call, into: int | None) -> Operand:
    x, *options = call.args
    if not options:
        return w.step(o.MODULO, w.operand(x), word(1), into=into)  # 0, and null for null
    constants = [operations.constant(option) for option in options]
    kind = x.type
    if kind.is_wide or not all(
        isinstance(found, Literal) and found.type.scale == kind.scale and not found.type.is_wide for found in constants
    ):
        equals = [w.operand(Call("eq", (x, option), BOOLEAN)) for option in options]
        return equals[0] if len(equals) == 1 else w.chain(o.OR, equals, into)
    lanes = sorted({w.operand(option).value for option in options})
    has_null = lanes[0] == NULL
    lanes = lanes[1:] if has_null else lanes
    found = w.step(o.IN, w.operand(x), NO_OPERAND, into=into)
    w.tables.append((len(w.steps) - 1, [NULL if has_null else 0, len(lanes), *lanes]))
    return found


def write_round(w: Writer, call: Call, into: int | None) -> Operand:
    (number, places), kind = call.args, call.args[0].type
    assert isinstance(places, Literal)
    x = w.operand(number)
    if places.value is None:
        return w.step(o.COPY, word(NULL), into=into)
    digits = int(places.value)  # type: ignore[call-overload]
    if kind.is_float:
        if not 0 <= digits <= o.MOST_DIGITS:
            raise NotInside
        return w.step(o.FLOAT_ROUND, x, word(digits), into=into)
    if kind.name == "decimal":
        down, up = max(kind.scale - digits, 0), max(-digits, 0)
        rounded = w.step(o.ROUND, x, word(min(down, 20)), word(min(up, 20)))
        return w.step(o.LIMIT, rounded, into=into)
    places_off = min(max(-digits, 0), 20)
    return w.step(o.ROUND, x, word(places_off), word(places_off), into=into)


def write_decimals(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    """What is computed of decimals, beside integers and decimals of another scale."""
    x, y = (arg.type for arg in call.args)
    if call.op in o.COMPARISON_STEPS or call.op == "eq_null_safe":
        return write_comparison(w, call, args, into)
    if call.op == "div":
        if call.type.scale + y.scale < x.scale:
            raise NotInside
        return w.step(o.LIMIT, w.step(o.DECIMAL_DIV, *args, word(call.type.scale + y.scale - x.scale)), into=into)  # type: ignore[call-arg, arg-type]
    exact = x.scale + y.scale if call.op == "mul" else max(x.scale, y.scale)
    if call.type.scale != exact or call.op not in DECIMAL_STEPS:  # try_add looks at values
        raise NotInside
    if call.op != "mul":
        args = [scaled(w, arg, call.type.scale - kind.scale) for arg, kind in zip(args, (x, y), strict=True)]
    return w.step(o.LIMIT, w.step(INT_STEPS[call.op], *args), into=into)


def scaled(w: Writer, x: Operand, up: int) -> Operand:
    """Times a power of ten; what has no place in a decimal is found by the LIMIT of what is made of it."""
    return w.step(o.SCALE_CLAMPED, x, word(10**up)) if up > 0 else x


def write_comparison(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    up = call.args[1].type.scale - call.args[0].type.scale
    if up == 0:
        op = o.COMPARISON_STEPS.get(call.op, o.EQ_NULL_SAFE)
        return w.step(op, *args, into=into)
    unit = 10 ** abs(up) if abs(up) <= DIGITS else o.NO_POWER
    order = w.step(o.DECIMAL_COMPARE, *args, word(unit if up > 0 else -unit))  # type: ignore[call-arg, arg-type]
    if call.op in o.COMPARISON_STEPS:
        return w.step(o.COMPARISON_STEPS[call.op], order, word(0), into=into)
    nulls = w.step(o.AND, w.step(o.IS_NULL, args[0]), w.step(o.IS_NULL, args[1]))
    return w.step(o.COALESCE, w.step(o.EQ, order, word(0)), nulls, into=into)


def may_overflow(expr: Expr) -> bool:
    """Whether computing it can refuse a row."""
    if not isinstance(expr, Call):
        return False
    makes = expr.op in ("add", "sub", "mul", "div", "floordiv", "round") and not expr.type.is_float
    return makes or expr.op in operations.REFUSING or any(map(may_overflow, expr.args))


SHORT_CIRCUITS = {
    "and": (o.SKIP_IF, 0, o.AND),
    "or": (o.SKIP_IF, 1, o.OR),
    "coalesce": (o.SKIP_UNLESS, NULL, o.COPY),
}
"""When the rest is not asked for, and what an argument that is asked for does to the answer."""
DECIMAL_STEPS = ("add", "sub", "mul", "div")
INT_STEPS = {"add": o.ADD, "sub": o.SUB, "mul": o.MUL, "abs": o.ABS, "floordiv": o.FLOORDIV, "mod": o.REMAINDER}
FLOAT_STEPS = {
    "add": o.FLOAT_ADD, "sub": o.FLOAT_SUB, "mul": o.FLOAT_MUL, "div": o.FLOAT_DIV, "neg": o.FLOAT_NEG,
    "abs": o.FLOAT_ABS, "floordiv": o.FLOAT_FLOORDIV, "mod": o.FLOAT_REMAINDER,
    "floor": o.FLOAT_FLOOR, "ceil": o.FLOAT_CEIL,
    "sqrt": o.SQRT, "exp": o.EXP, "log": o.LOG_E, "log2": o.LOG2, "log10": o.LOG10, "pow": o.POW,
    "sin": o.SIN, "cos": o.COS, "tan": o.TAN, "sign": o.SIGN,
}  # fmt: skip
