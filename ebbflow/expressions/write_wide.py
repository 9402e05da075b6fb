"""Calls on decimals of more than 18 digits, written as steps: their values are two words each.

Rule: what is not possible with these steps is not written (`NotInside`), and is computed outside by its meaning.
"""

from __future__ import annotations

from decimal import Decimal

from ebbflow.columns.ranges import BOUNDS
from ebbflow.columns.schema import DIGITS, NULL, PRECISION, Type
from ebbflow.expressions import opcodes as o
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.expressions.writer import NotInside, Operand, Writer, word

WIDE_STEPS = {
    "add": o.WIDE_ADD, "sub": o.WIDE_SUB, "mul": o.WIDE_MUL, "div": o.WIDE_DIV,
    "mod": o.WIDE_REMAINDER,
}  # fmt: skip


def write_wide_call(w: Writer, call: Call, into: int | None) -> Operand:
    """What is computed of decimals of which one at least is two words."""
    op, (first, *_) = call.op, call.args
    if op in ("coalesce", "when"):
        return write_choice(w, call, into)
    if op in ("greatest", "least"):
        step = o.WIDE_LARGER if op == "greatest" else o.WIDE_SMALLER
        found, *rest = [w.operand(arg) for arg in call.args]
        for i, arg in enumerate(rest, 1):
            found = w.wide(step, found, arg, into=into if i == len(rest) else None)
        return found
    if op == "is_null":
        return w.step(o.IS_NULL, w.operand(first), into=into)
    if op == "cast":
        return write_wide_cast(w, first, call.type, into)
    if op == "round":
        return write_wide_round(w, call, into)
    if op in ("neg", "abs"):
        return w.wide(o.WIDE_NEG if op == "neg" else o.WIDE_ABS, w.operand(first), into=into)
    if op in ("floor", "ceil"):
        step = o.WIDE_FLOOR if op == "floor" else o.WIDE_CEIL
        found = w.wide(step, widened(w, first), c=first.type.scale, into=into if call.type.is_wide else None)
        return found if call.type.is_wide else narrowed(w, found, call.type, into)
    if op in o.COMPARISON_STEPS or op == "eq_null_safe" or op in WIDE_STEPS:
        return write_pair(w, call, into)
    raise NotInside


def widened(w: Writer, expr: Expr) -> Operand:
    """An integer or a decimal as two words."""
    if expr.type.is_wide:
        return w.operand(expr)
    if not expr.type.is_exact:
        raise NotInside
    wide = Call("cast", (expr,), Type("decimal", PRECISION, expr.type.scale))  # named so to be found again
    if wide not in w.known:
        w.known[wide] = w.wide(o.WIDEN, w.operand(expr))
    return w.known[wide]


def narrowed(w: Writer, x: Operand, kind: Type, into: int | None) -> Operand:
    """Two words as the one of a decimal with fewer digits; null where it has no place."""
    return w.step(o.WIDE_NARROW, x, c=word(kind.precision), into=into)


def write_choice(w: Writer, call: Call, into: int | None) -> Operand:
    """One of several values, all of two words."""
    if call.op == "when":
        *pairs, last = call.args
        conditions, values = [w.operand(arg) for arg in pairs[::2]], [w.operand(arg) for arg in pairs[1::2]]
        found = w.operand(last)
    else:
        *values, found = [w.operand(arg) for arg in call.args]
        conditions = [w.step(o.EQ, w.step(o.IS_NULL, value), word(0)) for value in values]
    for i in range(len(values) - 1, -1, -1):
        to = into if i == 0 and into is not None else w.two()
        w.step(o.SELECT, conditions[i], values[i], found, into=to)
        w.step(o.SELECT, conditions[i], values[i].second, found.second, into=to + 1)
        found = Operand(to)
    return found


def write_pair(w: Writer, call: Call, into: int | None) -> Operand:
    """What is computed of two numbers, or how they compare."""
    x, y = (arg.type for arg in call.args)
    up = y.scale - x.scale
    if call.op == "mul" and not x.is_wide and not y.is_wide and call.type.scale == x.scale + y.scale:
        return w.wide(o.WIDE_PRODUCT, w.operand(call.args[0]), w.operand(call.args[1]), into=into)
    a, b = (widened(w, arg) for arg in call.args)
    if call.op in o.COMPARISON_STEPS or call.op == "eq_null_safe":
        order = w.step(o.WIDE_COMPARE, a, b, word(up))
        if call.op in o.COMPARISON_STEPS:
            return w.step(o.COMPARISON_STEPS[call.op], order, word(0), into=into)
        nulls = w.step(o.AND, w.step(o.IS_NULL, a), w.step(o.IS_NULL, b))
        return w.step(o.COALESCE, w.step(o.EQ, order, word(0)), nulls, into=into)
    scale = call.type.scale
    if call.op == "mul":
        c = x.scale + y.scale - scale
    elif call.op == "div":
        c = scale + y.scale - x.scale
    else:
        c = up
        if scale != max(x.scale, y.scale) or (call.op == "mod" and up < 0 and y.precision - up > PRECISION):
            raise NotInside
    if (c < 0 and call.op in ("mul", "div")) or (call.op == "mul" and c > PRECISION):
        raise NotInside
    if call.type.is_wide:
        return w.wide(WIDE_STEPS[call.op], a, b, c, into=into)
    return narrowed(w, w.wide(WIDE_STEPS[call.op], a, b, c), call.type, into)


def write_wide_round(w: Writer, call: Call, into: int | None) -> Operand:
    number, places = call.args
    assert isinstance(places, Literal)
    if places.value is None:
        raise NotInside
    digits = int(places.value)  # type: ignore[call-overload]
    down, up = max(number.type.scale - digits, 0), max(-digits, 0)
    x = widened(w, number)
    if call.type.is_wide:
        return w.wide(o.WIDE_ROUND, x, word(min(down, 99)), min(up, 99), into=into)
    return narrowed(w, w.wide(o.WIDE_ROUND, x, word(min(down, 99)), min(up, 99)), call.type, into)


def write_wide_cast(w: Writer, value: Expr, target: Type, into: int | None) -> Operand:
    """Between decimals of two words and other numbers."""
    here = value.type
    if here.name == "void":
        return w.pair(word(NULL), word(NULL), into)
    if target.name == "decimal" and here.is_exact:
        x, up = widened(w, value), target.scale - here.scale
        is_same = up == 0 and target.precision >= (here.precision or 19)
        if not is_same:
            x = w.wide(o.WIDE_SCALE, x, word(up), target.precision)
        return x if target.is_wide else narrowed(w, x, target, into)
    if not here.is_wide:
        raise NotInside
    x = w.operand(value)
    if target.name == "boolean":
        order = w.step(o.WIDE_COMPARE, x, w.operand(Literal(Decimal(0), here)), word(0))
        return w.step(o.NE, order, word(0), into=into)
    if target.is_integer:
        room = BOUNDS[target.name]
        whole = w.wide(o.WIDE_TRUNCATE, x, c=here.scale)
        return w.step(o.WIDE_TO_LONG, whole, c=word(room if room < 2**63 else 0), into=into)
    if target.is_float and here.scale <= DIGITS:
        single = target.name == "float"
        found = w.step(o.WIDE_TO_DOUBLE, x, c=word(here.scale), into=None if single else into)
        return w.step(o.FLOAT_TO_SINGLE, found, into=into) if single else found
    raise NotInside
