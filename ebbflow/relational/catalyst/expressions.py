"""Catalyst's expressions made into typed ones of ours.

An expression of Spark's is one line of a table here: the operation of ours, or a few of them put together.  What Spark
raises an error for refuses the step (`guards`): in ANSI mode a division by zero, a cast that fails, an integer that
leaves its type; where it is off, what it wraps around.  Its `try_` functions give null.

Rule: an expression has the type that Spark gives it; what has no line is refused by name before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Protocol

from ebbflow.columns.schema import BOOLEAN, LONG, STRING, Type
from ebbflow.errors import TypeMismatch
from ebbflow.expressions import guards
from ebbflow.expressions.operations import VOID, cast, depends_on_zone, typed
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.relational.catalyst import functions, nested
from ebbflow.relational.catalyst.functions import ANSI, TRY, mode_of
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.types import NARROW_BOUNDS, literal_of, type_of

Bind = Callable[[Node], Expr]


class Columns(Protocol):
    """What an expression reads."""

    def column(self, node: Node) -> Expr:
        """A column, by its number."""

    def scalar(self, node: Node) -> Expr:
        """The value of a subquery."""

    def known(self, node: Node) -> Expr | None:
        """A whole part that is there as a column: a key of a group, an aggregate."""


def bound(node: Node, columns: Columns) -> Expr:
    """An expression over these columns."""
    found = columns.known(node)
    if found is not None:
        return found
    match node.kind:
        case "AttributeReference":
            return columns.column(node)
        case "ScalarSubquery":
            return columns.scalar(node)
        case "Literal":
            kind = type_of(node["dataType"], node)
            if not kind.is_nested:
                return literal_of(node)
            return nested.constant(node.java.value(), kind, node.java.dataType(), node)
    try:
        made = _bound(node, lambda part: bound(part, columns))
    except TypeMismatch as problem:
        raise refused(problem.what, node, problem.hint or "") from None
    return made


def _bound(node: Node, bind: Bind) -> Expr:
    kind = node.kind
    if kind in AS_THEY_ARE:
        return bind(node.children[0])
    if kind in SAME:
        return typed(SAME[kind], [bind(child) for child in node.children])
    if kind in EXPRESSIONS:
        return EXPRESSIONS[kind](node, bind)
    if kind in functions.BY_KIND:
        return functions.BY_KIND[kind](node, bind)
    if kind in nested.NESTED_FUNCTIONS:
        return nested.NESTED_FUNCTIONS[kind](node, bind)
    if kind in WHY:
        raise unsupported(node, *WHY[kind])
    raise unsupported(node)


NULL_WITHOUT_ROOM = {"add": "try_add", "sub": "try_subtract", "mul": "try_multiply"}


# ---- numbers --------------------------------------------------------------------------------


def _arithmetic(op: str) -> Callable[[Node, Bind], Expr]:
    def made(node: Node, bind: Bind) -> Expr:
        left, right = (bind(child) for child in node.children)
        if not (left.type.is_number or left.type == VOID) or not (right.type.is_number or right.type == VOID):
            raise unsupported(node, f"{node.kind.lower()} of {left.type} and {right.type}")
        value = typed(op, (left, right))
        kind = _narrower(left.type, right.type)
        if value.type.is_exact and mode_of(node) == TRY:
            return cast(value, kind) if kind is not None else typed(NULL_WITHOUT_ROOM[op], (left, right))
        if kind is None or value.type != LONG:
            return value
        return guards.within(value, kind, NARROW_BOUNDS[kind])

    return made


def _narrower(left: Type, right: Type) -> Type | None:
    """The type of integers narrower than a long that Spark computes with, if it does."""
    if not (left.is_integer and right.is_integer) or LONG in (left, right):
        return None
    return max((left, right), key=lambda kind: NARROW_BOUNDS[kind])


def _quotient(op: str) -> Callable[[Node, Bind], Expr]:
    def made(node: Node, bind: Bind) -> Expr:
        left, right = (bind(child) for child in node.children)
        value = guards.divided(op, left, right) if mode_of(node) == ANSI else typed(op, (left, right))
        kind = _narrower(left.type, right.type)
        return cast(value, kind) if op == "mod" and kind is not None else value  # a rest is never larger

    return made


def _whole_quotient(node: Node, bind: Bind) -> Expr:
    """`div`: towards zero; ours rounds down."""
    left, right = (bind(child) for child in node.children)
    if not (left.type.is_integer and right.type.is_integer):
        raise unsupported(node, f"div of {left.type} and {right.type}", "Cast both to bigint.")
    is_ansi = mode_of(node) == ANSI
    one, two = typed("abs", (left,)), typed("abs", (right,))
    size = guards.divided("floordiv", one, two) if is_ansi else typed("floordiv", (one, two))
    zero = Literal(0, LONG)
    opposite = typed("ne", (typed("lt", (left, zero)), typed("lt", (right, zero))))
    return typed("when", (opposite, typed("neg", (size,)), size))


def _one_number(op: str) -> Callable[[Node, Bind], Expr]:
    def made(node: Node, bind: Bind) -> Expr:
        value = bind(node.children[0])
        found = typed(op, (value,))
        return guards.within(found, value.type, NARROW_BOUNDS[value.type]) if value.type in NARROW_BOUNDS else found

    return made


def _round(node: Node, bind: Bind) -> Expr:
    value, digits = (bind(child) for child in node.children)
    if not isinstance(digits, Literal) or not isinstance(digits.value, int):
        raise unsupported(node, "round to a number of digits that is computed", "Write the number itself.")
    if value.type.is_integer and digits.value >= 0:
        return value
    found = typed("round", (value, Literal(digits.value, LONG)))
    return guards.within(found, value.type, NARROW_BOUNDS[value.type]) if value.type in NARROW_BOUNDS else found


def _whole(op: str) -> Callable[[Node, Bind], Expr]:
    def made(node: Node, bind: Bind) -> Expr:
        value = bind(node.children[0])
        return value if value.type.is_integer else typed(op, (value,))

    return made


# ---- casts ----------------------------------------------------------------------------------


def _cast(node: Node, bind: Bind) -> Expr:
    value, kind = bind(node.children[0]), type_of(node["dataType"], node)
    here = value.type
    if here == kind:
        return value
    found = cast(value, kind)
    if here == VOID or _never_fails(here, kind):
        return found
    mode = mode_of(node)
    if mode == TRY:
        return found
    if mode == ANSI or not (here == STRING or kind.name == "decimal"):
        return guards.always_cast(value, kind)
    return found


def _never_fails(here: Type, kind: Type) -> bool:
    if kind == STRING or (kind == BOOLEAN and here != STRING):
        return True
    if kind.is_float:
        return here != STRING
    if kind.is_integer:
        return here == BOOLEAN or (here.is_integer and NARROW_BOUNDS.get(here, 2**63) <= NARROW_BOUNDS.get(kind, 2**63))
    if kind.name == "decimal":
        whole = {"byte": 3, "short": 5, "int": 10, "long": 19, "decimal": here.precision - here.scale}.get(here.name)
        return whole is not None and whole <= kind.precision - kind.scale and kind.scale >= here.scale
    return here != STRING and not here.is_number  # between dates and timestamps


# ---- choices --------------------------------------------------------------------------------


def _case(node: Node, bind: Bind) -> Expr:
    parts = [bind(child) for child in node.children]
    return typed("when", parts if len(parts) % 2 else [*parts, Literal(None, VOID)])


def _in(node: Node, bind: Bind) -> Expr:
    value, *choices = (bind(child) for child in node.children)
    if all(isinstance(choice, Literal) for choice in choices):
        return typed("is_in", [value, *choices])
    return reduce(lambda one, two: typed("or", (one, two)), [typed("eq", (value, choice)) for choice in choices])


def _without_nulls(node: Node, bind: Bind) -> Expr:
    """`dropna`: at least so many of these are there, and no nan."""
    values = [bind(child) for child in node.children]
    there = []
    for value in values:
        one = guards.is_there(value)
        if value.type.is_float:
            one = guards.both(one, typed("not", (typed("is_nan", (value,)),)))
        there.append(one)
    least = int(node["n"])
    if least == len(values):
        return reduce(guards.both, there)
    ones: list[Expr] = [typed("when", (one, Literal(1, LONG), Literal(0, LONG))) for one in there]
    return typed("ge", (reduce(lambda one, two: typed("add", (one, two)), ones), Literal(least, LONG)))


# ---- text -----------------------------------------------------------------------------------


def _like(node: Node, bind: Bind) -> Expr:
    text, pattern = (bind(child) for child in node.children)
    if str(node.java.escapeChar()) != "\\":
        raise unsupported(node, "like with an escape of its own", "The escape is the backslash.")
    return typed("like", (text, pattern))


def _trim(op: str) -> Callable[[Node, Bind], Expr]:
    def made(node: Node, bind: Bind) -> Expr:
        return typed(op, [bind(child) for child in node.children])

    return made


def _concat(node: Node, bind: Bind) -> Expr:
    return typed("concat", [bind(child) for child in node.children]) if node.children else Literal("", STRING)


# ---- dates ----------------------------------------------------------------------------------


def _date_sub(node: Node, bind: Bind) -> Expr:
    start, days = (bind(child) for child in node.children)
    return typed("date_add", (start, typed("neg", (days,))))


# ---- the table ------------------------------------------------------------------------------

AS_THEY_ARE = {
    "Alias", "KnownFloatingPointNormalized", "NormalizeNaNAndZero", "KnownNotNull", "KnownNullable", "UnaryPositive",
    "PromotePrecision", "TempResolvedColumn", "MapSort",  # a map is in the order of its keys here
}  # fmt: skip
SAME = {
    "EqualTo": "eq", "LessThan": "lt", "LessThanOrEqual": "le", "GreaterThan": "gt", "GreaterThanOrEqual": "ge",
    "EqualNullSafe": "eq_null_safe", "And": "and", "Or": "or", "Not": "not", "IsNull": "is_null", "IsNaN": "is_nan",
    "Coalesce": "coalesce", "If": "when", "Greatest": "greatest", "Least": "least", "Sqrt": "sqrt", "Exp": "exp",
    "Log": "log", "Log10": "log10", "Log2": "log2", "Pow": "pow", "Sin": "sin", "Cos": "cos", "Tan": "tan",
    "Signum": "sign", "Upper": "upper", "Lower": "lower", "Length": "length", "StartsWith": "starts_with",
    "EndsWith": "ends_with", "Contains": "contains", "StringReplace": "replace", "Substring": "substr", "Year": "year",
    "Month": "month", "DayOfMonth": "day", "Hour": "hour", "Minute": "minute", "Second": "second",
    "WeekDay": "weekday", "DateAdd": "date_add", "DateDiff": "date_diff",
}  # fmt: skip
EXPRESSIONS: dict[str, Callable[[Node, Bind], Expr]] = {
    "Add": _arithmetic("add"),
    "Subtract": _arithmetic("sub"),
    "Multiply": _arithmetic("mul"),
    "Divide": _quotient("div"),
    "Remainder": _quotient("mod"),
    "IntegralDivide": _whole_quotient,
    "UnaryMinus": _one_number("neg"),
    "Abs": _one_number("abs"),
    "Round": _round,
    "Floor": _whole("floor"),
    "Ceil": _whole("ceil"),
    "Cast": _cast,
    "CaseWhen": _case,
    "In": _in,
    "IsNotNull": lambda node, bind: guards.is_there(bind(node.children[0])),
    "AtLeastNNonNulls": _without_nulls,
    "Like": _like,
    "StringTrim": _trim("trim"),
    "StringTrimLeft": _trim("ltrim"),
    "StringTrimRight": _trim("rtrim"),
    "Concat": _concat,
    "DateSub": _date_sub,
}
OF_A_CALL = "Compute it before, in the table that is read, or give it as a column."
WHY: dict[str, tuple[str, str]] = {
    "Collate": ("text compared by a collation", "Compare upper(x) or lower(x)."),
    "PythonUDF": (
        "a Python function",
        "Use collections: flow.dataframe of what is below it, then map_rows(fn, schema).",
    ),
    "ScalaUDF": ("a function of Java or Scala", OF_A_CALL),
    "OuterReference": ("a subquery that reads the query around it in this way", "Write it as a join."),
    "SubtractTimestamps": (
        "a length of time as a value",
        "Count units: timestampdiff(SECOND, start, end), or unix_timestamp(end) - unix_timestamp(start).",
    ),
    "SubtractDates": ("a length of time as a value", "Count days: datediff(end, start)."),
    "WindowExpression": ("a window function", "Use group_by(...).top(n, order_by=...), or a join with an aggregate."),
}


def reads_clock(expr: Expr) -> bool:
    """Whether it depends on the zone of the session."""
    return isinstance(expr, Call) and (depends_on_zone(expr) or any(map(reads_clock, expr.args)))
