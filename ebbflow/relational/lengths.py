"""Lengths of time in expressions: `interval 1 day * n`, `b - a > interval '2 hours'`, `extract(epoch from b - a)`.

There is no type for a length; where one stands, what is done with it is known, and it is microseconds there.

Rule: a length of months is added to moments, and never compared: months are not equally long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from ebbflow.columns.schema import DATE, DOUBLE, LONG, TIMESTAMP
from ebbflow.expressions.calendar_functions import MICROS, MONTHS
from ebbflow.expressions.operations import MOMENTS, cast, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational.functions import called
from ebbflow.relational.intervals import interval_parts
from ebbflow.relational.refusals import refused, unsupported

Bind = Callable[[exp.Expression], Expr]
SIZES = {"day": None, "hour": 24, "minute": 60, "second": 60}  # how many make one of the next unit


def _inside(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def is_interval(node: exp.Expression) -> bool:
    """Whether it is an interval, or a multiple of one, by its form."""
    node = _inside(node)
    if isinstance(node, exp.Interval):
        return True
    if isinstance(node, exp.Neg):
        return is_interval(node.this)
    if isinstance(node, exp.Add | exp.Sub):  # interval 1 day 2 hours is read as a sum
        return is_interval(node.this) and is_interval(node.expression)
    return isinstance(node, exp.Mul) and (is_interval(node.this) or is_interval(node.expression))


def terms(node: exp.Expression, bind: Bind) -> list[tuple[Expr, str]]:
    """How much of which units an interval has, or a multiple of one."""
    node = _inside(node)
    if isinstance(node, exp.Add | exp.Sub):
        second = exp.Neg(this=node.expression) if isinstance(node, exp.Sub) else node.expression
        return [*terms(node.this, bind), *terms(second, bind)]
    if isinstance(node, exp.Neg):
        return [(_product(amount, Literal(-1, LONG)), unit) for amount, unit in terms(node.this, bind)]
    if isinstance(node, exp.Mul):
        span, factor = (node.this, node.expression) if is_interval(node.this) else (node.expression, node.this)
        times = bind(factor)
        if not times.type.is_integer:
            raise unsupported(node, "an interval times anything but a whole number", "Multiply by a whole number.")
        return [(_product(amount, times), unit) for amount, unit in terms(span, bind)]
    return interval_parts(node, bind)


def _product(one: Expr, two: Expr) -> Expr:
    match one, two:
        case Literal(int() as x), Literal(int() as y):
            return Literal(x * y, LONG)
    return typed("mul", (one, two))


def duration(node: exp.Expression, bind: Bind) -> Expr:
    """A length of time in microseconds."""
    if is_interval(node):
        parts: list[Expr] = []
        for amount, unit in terms(node, bind):
            if unit not in MICROS:
                raise refused(f"a length of {unit}s is compared with another", node, "Write it in days.")
            parts.append(_product(amount, Literal(MICROS[unit], LONG)))
        return reduce(lambda one, two: typed("add", (one, two)), parts)
    found = difference(node, bind)
    if found is None:
        raise refused(
            "an interval is compared with what is no length of time", node, "For example b - a > interval 1 day."
        )
    return found


def difference(node: exp.Expression, bind: Bind) -> Expr | None:
    """The microseconds between two moments; None for anything else."""
    node = _inside(node)
    if not isinstance(node, exp.Sub) or is_interval(node.expression):
        return None
    ends = [bind(node.this), bind(node.expression)]
    if any(end.type not in MOMENTS for end in ends):
        return None
    ends = [cast(end, TIMESTAMP) if end.type == DATE else end for end in ends]
    return typed("sub", [called("unix_micros", node, [end]) for end in ends])


def part_of_length(name: str, length: Expr, node: exp.Expression) -> Expr:
    """extract(epoch from b - a), in seconds; extract(hour ...): those beside whole days."""
    part = name.lower()
    if part == "epoch":
        return typed("div", (cast(length, DOUBLE), Literal(1e6, DOUBLE)))
    if part not in SIZES:
        raise unsupported(
            node, f"extract({part} ...) of a length of time", "There are: epoch, day, hour, minute, second."
        )
    size = typed("floordiv", (typed("abs", (length,)), Literal(MICROS[part], LONG)))
    many = SIZES[part]
    beside = size if many is None else typed("mod", (size, Literal(many, LONG)))
    below = typed("lt", (length, Literal(0, LONG)))
    return typed("when", (below, typed("neg", (beside,)), beside))


def sequence_of(node: exp.Expression, bind: Bind) -> Expr:
    """sequence(start, stop, interval 1 month): dates by whole days and months, else timestamps."""
    first, last = (bind(part) for part in node.expressions[:2])
    by: dict[str, Expr] = {"month": Literal(0, LONG), "day": Literal(0, LONG), "microsecond": Literal(0, LONG)}
    kind = DATE if first.type == last.type == DATE else TIMESTAMP
    for amount, unit in terms(node.expressions[2], bind):
        into, factor = _counted(unit)
        by[into] = _sum(by[into], _product(amount, Literal(factor, LONG)))
        kind = kind if into != "microsecond" else TIMESTAMP
    if first.type == last.type and first.type in MOMENTS and kind == TIMESTAMP != first.type != DATE:
        kind = first.type
    return called(
        "sequence_by", node, [*(cast(end, kind) if end.type != kind else end for end in (first, last)), *by.values()]
    )


def _counted(unit: str) -> tuple[str, int]:
    """What a unit is counted in, months, days or microseconds, and how many of these it is."""
    if unit in MONTHS:
        return "month", MONTHS[unit]
    return ("day", 7 if unit == "week" else 1) if unit in ("day", "week") else ("microsecond", MICROS[unit])


def _sum(one: Expr, two: Expr) -> Expr:
    match one, two:
        case Literal(int() as x), Literal(int() as y):
            return Literal(x + y, LONG)
    return typed("add", (one, two))
