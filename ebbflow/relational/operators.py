"""SQL's operators: arithmetic, with dates and lengths of time; comparisons of values and of rows of values; bits.

The two sides of a comparison are made alike first, as Spark does: text beside a number is read as one.

Rule: an operator is one line of a table, or says here in which cases it is another.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Type
from ebbflow.expressions import value_casts
from ebbflow.expressions.operations import MOMENTS, VOID, cast, evaluate, typed
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.relational.functions import Bind, called, later
from ebbflow.relational.lengths import duration, is_interval, terms
from ebbflow.relational.refusals import refused, unsupported

BINARY_OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.Mod: "mod",
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe", exp.NullSafeNEQ: "eq_null_safe", exp.And: "and", exp.Or: "or",
    exp.Like: "like", exp.Pow: "pow", exp.StartsWith: "starts_with", exp.EndsWith: "ends_with",
    exp.BitwiseAnd: "bitwise_and", exp.BitwiseOr: "bitwise_or", exp.BitwiseXor: "bitwise_xor",
    exp.BitwiseLeftShift: "shiftleft", exp.BitwiseRightShift: "shiftright", exp.RegexpLike: "regexp_like",
}  # fmt: skip

AS_EXACT_AS_LONGS = Type("decimal", 38, 18)  # any long, and what may stand behind a point
OPERATORS_OF_TABLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "shiftleft", "shiftright", "regexp_like")

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def binary(node: exp.Expression, bind: Bind) -> Expr:
    if isinstance(node, exp.Add | exp.Sub):
        for one, two in ((node.this, node.expression), (node.expression, node.this)):
            if is_interval(two) and not is_interval(one) and (isinstance(node, exp.Add) or one is node.this):
                return _later(bind(one), two, -1 if isinstance(node, exp.Sub) else 1, bind)
    if isinstance(node, COMPARISONS) and (is_interval(node.this) or is_interval(node.expression)):
        return typed(BINARY_OPERATORS[type(node)], [duration(side, bind) for side in (node.this, node.expression)])
    if isinstance(node, COMPARISONS) and (is_row(node.this) or is_row(node.expression)):
        return compared_rows(node, bind)
    left, right = bind(node.this), bind(node.expression)
    if isinstance(node, COMPARISONS):
        left, right = alike(left, right)
    if isinstance(node, exp.Add | exp.Sub) and left.type == DATE and right.type.is_integer:
        return typed("date_add", (left, typed("neg", (right,)) if isinstance(node, exp.Sub) else right))
    if isinstance(node, exp.Sub) and left.type == right.type == DATE:
        return typed("date_diff", (left, right))
    if isinstance(node, exp.Sub) and left.type in MOMENTS and right.type in MOMENTS:
        raise unsupported(node, "a length of time as a value", "Say in which unit: timestampdiff(second, start, end).")
    op = BINARY_OPERATORS[type(node)]
    if op == "like" and VOID in (left.type, right.type):
        return Literal(None, BOOLEAN)
    found = called(op, node, (left, right)) if op in OPERATORS_OF_TABLE else typed(op, (left, right))
    is_negated = node.args.get("negate") or isinstance(node, exp.NullSafeNEQ)
    return typed("not", (found,)) if is_negated else found


def is_row(node: exp.Expression) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row")


def _values_in(node: exp.Expression) -> list[exp.Expression]:
    """The values of a row, (a, b); a value alone is one."""
    while isinstance(node, exp.Paren):
        node = node.this
    return list(node.expressions) if is_row(node) else [node]


def compared_rows(node: exp.Expression, bind: Bind) -> Expr:
    """(a, b) = (c, d): value by value."""
    ours, theirs = _values_in(node.this), _values_in(node.expression)
    if len(ours) != len(theirs):
        raise refused(f"a row of {len(ours)} is compared with one of {len(theirs)}", node, "Compare as many values.")
    pairs = [alike(bind(one), bind(two)) for one, two in zip(ours, theirs)]
    op = BINARY_OPERATORS[type(node)]
    if op in ("eq", "eq_null_safe"):
        same = reduce(lambda one, two: typed("and", (one, two)), [typed(op, pair) for pair in pairs])
        return typed("not", (same,)) if isinstance(node, exp.NullSafeNEQ) else same
    if op == "ne":
        return reduce(lambda one, two: typed("or", (one, two)), [typed("ne", pair) for pair in pairs])
    raise unsupported(node, "which of two rows is less", "Compare value by value: a > 1 or (a = 1 and b > 2).")


def alike(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Two sides of a comparison: text beside a number or a boolean is read as one, as Spark does."""
    for one, two in ((left, right), (right, left)):
        if one.type == STRING and (two.type.is_number or two.type == BOOLEAN):
            target = two.type if two.type == BOOLEAN or (two.type.is_integer and isinstance(one, Literal)) else DOUBLE
            if target == DOUBLE and two.type == LONG and not _is_a_double(two):
                target = AS_EXACT_AS_LONGS
            read = cast(one, target) if not isinstance(one, Literal) else _read(one, target)
            return (read, right) if one is left else (left, read)
    return left, right


def _is_a_double(number: Expr) -> bool:
    """Whether it is known to be a whole number that doubles tell from its neighbours."""
    return isinstance(number, Literal) and isinstance(number.value, int) and abs(number.value) < 2**53


def _read(text: Literal, target: Type) -> Expr:
    value = text.value
    if isinstance(value, str) and target.is_integer and not value.strip().lstrip("+-").isdigit():
        target = AS_EXACT_AS_LONGS if target == LONG else DOUBLE
    return cast(text, target)


def _later(start: Expr, span: exp.Expression, sign: int, bind: Bind) -> Expr:
    """A moment, a length of time later or earlier: its months first, as they are written."""
    for amount, unit in terms(span, bind):
        start = _later_by(start, amount, unit, sign, span)
    return start


def _later_by(start: Expr, amount: Expr, unit: str, sign: int, span: exp.Expression) -> Expr:
    if isinstance(start, Call) and start.type == DATE and isinstance(start.args[0], Literal):
        folded = cast_value(start.args[0], start.type)
        start = start if folded is None else folded
    if isinstance(amount, Literal) and isinstance(amount.value, int):
        amount = Literal(sign * amount.value, LONG)
    elif sign < 0:
        amount = typed("neg", (amount,))
    found = later(start, amount, unit, span)
    if isinstance(start, Literal) and isinstance(amount, Literal) and start.type != TIMESTAMP:
        return Literal(evaluate(found, {}), found.type)
    return found


def cast_value(text: Literal, target: Type) -> Literal | None:
    value = value_casts.cast_value(text.value, str(target))
    return None if value is None else Literal(value, target)
