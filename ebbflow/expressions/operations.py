"""Operations: for each operation its argument types, its result type and its meaning.

The planner, the interpreter, the oracle and the documentation read this one table. A new operation is one line here,
its function in `reference`, and its case in the interpreter. A function of values is a row of the tables that
`signature` describes, which are a part of this one.

Rule: after `typed`, the arguments of an operation have one type, or types with the same words (integers of any width;
floats; round, substr, date_add and when take their other arguments by position). Conversions stand in the plan as
casts. Integers of any width compute as long, floats as double. Decimals are computed and compared exactly, with other
scales and with integers. Results have the types that Spark gives them, of 38 digits at most; a value that needs more
refuses the step. What has more than 18 digits is two words, which is why decimals of one scale may differ in words.

Operations that convert between instants and calendar or clock depend on the time zone of the program, which is known
when it runs: `in_zone` adds it to the plan as an option; without one it is UTC.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ebbflow.columns.like_patterns import like
from ebbflow.columns.schema import BOOLEAN, DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, Type
from ebbflow.columns.schema import VOID as VOID
from ebbflow.expressions import (
    calendar_functions,
    hashes,
    json_functions,
    nested_casts,
    nested_functions,
    number_functions,
    text_functions,
)
from ebbflow.expressions import reference as m
from ebbflow.expressions.conversions import BY_ZONE
from ebbflow.expressions.conversions import MOMENTS as MOMENTS  # these are asked for here: what a plan is made of
from ebbflow.expressions.conversions import cast as cast
from ebbflow.expressions.conversions import common_type as common_type
from ebbflow.expressions.conversions import converted as converted
from ebbflow.expressions.conversions import decimal as decimal
from ebbflow.expressions.conversions import renamed as renamed
from ebbflow.expressions.conversions import same_words as same_words
from ebbflow.expressions.conversions import whole_digits as whole_digits
from ebbflow.expressions.function_typing import type_by_signature
from ebbflow.expressions.signature import Function
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.expressions.typing_rules import (
    Typed,
    Typing,
    rounds_to,
    type_any,
    type_arithmetic,
    type_beside,
    type_booleans,
    type_choice,
    type_comparison,
    type_concat,
    type_date_add,
    type_date_diff,
    type_division,
    type_doubles,
    type_is_in,
    type_is_nan,
    type_like,
    type_mix,
    type_moment,
    type_never,
    type_one_number,
    type_round,
    type_substr,
    type_texts,
    type_to_long,
    type_when,
)
from ebbflow.expressions.value_casts import cast_value

CLOCKS = ("year", "month", "day", "hour", "minute", "second", "weekday")


@dataclass(frozen=True)
class Operation:
    """`fn(*values, *options)` is the meaning on one row; `least` and `most` bound the arguments (None: no bound)."""

    name: str
    least: int
    most: int | None
    typing: Typing
    says: str
    fn: Callable[..., Any] | None  # None: put together of others, and never in a plan


def typed(op: str, args: Sequence[Expr]) -> Call:
    """The operation on these arguments, converted as far as it needs; TypeMismatch where they do not fit."""
    entry, function = OPERATIONS[op], FUNCTIONS.get(op)
    assert entry.least <= len(args) and (entry.most is None or len(args) <= entry.most), (op, args)
    converted, result = entry.typing(op, args)
    if function is not None and function.expands is not None:
        made = function.expands(typed, *converted)
        assert isinstance(made, Call), op
        return made
    return Call(op, converted, result, _options(op, converted, result))


def as_written(op: str, args: Sequence[Expr]) -> list[Expr]:
    """Constant whole numbers as ints where they fit one, as in Spark, for a function that looks at types."""
    if op not in FUNCTIONS or not (FUNCTIONS[op].of_types or "whole" in FUNCTIONS[op].kinds):
        return list(args)
    return [replace(arg, type=INT) if isinstance(arg, Literal) and type_beside(arg) == INT else arg for arg in args]


def in_zone(expr: Expr, zone: str | None) -> Expr:
    """The expression where clocks are those of a zone, by its name as programs hold it."""
    if not isinstance(expr, Call):
        return expr
    args = tuple(in_zone(arg, zone) for arg in expr.args)
    options = expr.options
    if depends_on_zone(expr):
        known = (str(expr.type),) if expr.op == "cast" else ()
        options = known if zone is None else (*known, zone)
    return expr if args == expr.args and options == expr.options else replace(expr, args=args, options=options)


def depends_on_zone(call: Call) -> bool:
    """Whether the operation itself does."""
    here = call.args[0].type if call.args else call.type
    if call.op in FUNCTIONS:
        moments = {arg.type for arg in call.args if arg.type in MOMENTS}
        return FUNCTIONS[call.op].zoned and (TIMESTAMP in moments or not moments)
    return (here, call.type) in BY_ZONE if call.op == "cast" else call.op in CLOCKS and here == TIMESTAMP


def constant(expr: Expr) -> Expr:
    """A constant that waited for its zone, as the constant that it is; any other expression as it stands."""
    if isinstance(expr, Call) and depends_on_zone(expr):
        values = [arg.value for arg in expr.args if isinstance(arg, Literal)]
        if len(values) == len(expr.args):
            fn = OPERATIONS[expr.op].fn
            assert fn is not None, expr.op
            return Literal(fn(*values, *expr.options), expr.type)
    return expr


# ---- typing rules ---------------------------------------------------------------------------


def _options(op: str, args: Sequence[Expr], result: Type) -> tuple[object, ...]:
    if op in FUNCTIONS and FUNCTIONS[op].of_types and FUNCTIONS[op].fits is not None:
        return (str(args[0].type) if args else "",)
    if op in FUNCTIONS and FUNCTIONS[op].of_types:
        return (" ".join(str(arg.type) for arg in args),)
    return rounds_to(number_functions.TRIED[op][0] if op in number_functions.TRIED else op, args, result)


# ---- functions, by their signatures ---------------------------------------------------------


def type_tried(op: str, args: Sequence[Expr]) -> Typed:
    of = number_functions.TRIED[op][0]
    return OPERATIONS[of].typing(of, args)


# ---- the table ------------------------------------------------------------------------------

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for table in (
        text_functions.TEXT_FUNCTIONS,
        number_functions.NUMBER_FUNCTIONS,
        calendar_functions.CALENDAR_FUNCTIONS,
        hashes.HASH_FUNCTIONS,
        nested_functions.COLLECTION_FUNCTIONS,
        json_functions.JSON_FUNCTIONS,
    )
    for function in table
}
_MOMENT = type_moment(TIMESTAMP, DATE, TIMESTAMP_NTZ)
_s = m.strict


OPERATIONS: dict[str, Operation] = {
    entry.name: entry
    for entry in (
        Operation("add", 2, 2, type_arithmetic, "x + y", _s(m.add)),
        Operation("sub", 2, 2, type_arithmetic, "x - y", _s(m.sub)),
        Operation("mul", 2, 2, type_arithmetic, "x * y", _s(m.mul)),
        Operation("div", 2, 2, type_division, "x / y, a double (of decimals a decimal); null when y is 0", _s(m.div)),
        Operation("floordiv", 2, 2, type_arithmetic, "x // y, rounded down; null when y is 0", _s(m.floordiv)),
        Operation(
            "mod",
            2,
            2,
            type_arithmetic,
            "the rest of x / y, with the sign of x (Spark's %); null when y is 0",
            _s(m.mod),
        ),
        Operation("neg", 1, 1, type_one_number, "-x", _s(m.neg)),
        Operation("abs", 1, 1, type_one_number, "x without its sign", _s(m.absolute)),
        Operation("eq", 2, 2, type_comparison, "x equals y; nan equals nan", _s(m.comparison(operator.eq))),
        Operation("ne", 2, 2, type_comparison, "x differs from y", _s(m.comparison(operator.ne))),
        Operation(
            "lt", 2, 2, type_comparison, "x comes before y; text by text, nan last", _s(m.comparison(operator.lt))
        ),
        Operation("le", 2, 2, type_comparison, "x equals y or comes before it", _s(m.comparison(operator.le))),
        Operation("gt", 2, 2, type_comparison, "x comes after y", _s(m.comparison(operator.gt))),
        Operation("ge", 2, 2, type_comparison, "x equals y or comes after it", _s(m.comparison(operator.ge))),
        Operation(
            "eq_null_safe", 2, 2, type_comparison, "x equals y, where null equals null; never null", m.eq_null_safe
        ),
        Operation("and", 2, 2, type_booleans, "both hold (three-valued)", m.both),
        Operation("or", 2, 2, type_booleans, "at least one holds (three-valued)", m.either),
        Operation("not", 1, 1, type_booleans, "it does not hold (three-valued)", _s(operator.not_)),
        Operation("is_null", 1, 1, type_any, "x is null", lambda x: x is None),
        Operation("is_nan", 1, 1, type_is_nan, "x is nan; false for null", lambda x: x is not None and x != x),
        Operation("coalesce", 1, None, type_choice, "the first that is not null", m.coalesce),
        Operation(
            "when", 3, None, type_when, "condition, value, ..., otherwise: the value of the first that holds", m.when
        ),
        Operation("cast", 1, 1, type_never, "x as another type; null where that fails", cast_value),
        Operation(
            "cast_parts", 1, 1, type_never, "a nested value as another type, part by part", _s(nested_casts.cast)
        ),
        Operation("is_in", 1, None, type_is_in, "x equals one of the others", m.is_in),
        Operation("greatest", 1, None, type_choice, "the largest that is not null", m.greatest),
        Operation("least", 1, None, type_choice, "the smallest that is not null", m.least),
        Operation("sqrt", 1, 1, type_doubles, "square root; nan below 0", _s(m.real(math.sqrt))),
        Operation("exp", 1, 1, type_doubles, "e to the power x", _s(m.real(math.exp))),
        Operation("log", 1, 1, type_doubles, "natural logarithm; null at 0 and below", _s(m.logarithm(math.log))),
        Operation("log2", 1, 1, type_doubles, "logarithm to base 2; null at 0 and below", _s(m.logarithm(math.log2))),
        Operation(
            "log10", 1, 1, type_doubles, "logarithm to base 10; null at 0 and below", _s(m.logarithm(math.log10))
        ),
        Operation("pow", 2, 2, type_doubles, "x to the power y, as a double", _s(m.power)),
        Operation(
            "floor", 1, 1, type_to_long, "the next whole number below, a long (of a decimal a decimal)", _s(m.floor)
        ),
        Operation(
            "ceil", 1, 1, type_to_long, "the next whole number above, a long (of a decimal a decimal)", _s(m.ceil)
        ),
        Operation("round", 2, 2, type_round, "to so many digits, half away from zero", _s(m.rounded)),
        Operation("sin", 1, 1, type_doubles, "sine", _s(m.real(math.sin))),
        Operation("cos", 1, 1, type_doubles, "cosine", _s(m.real(math.cos))),
        Operation("tan", 1, 1, type_doubles, "tangent", _s(m.real(math.tan))),
        Operation("sign", 1, 1, type_doubles, "-1.0, 0.0 or 1.0", _s(m.sign)),
        Operation("mix", 1, 1, type_mix, "a long that looks random; of longs that differ, different ones", _s(m.mixed)),
        Operation("lower", 1, 1, type_texts(None), "in small letters", _s(str.lower)),
        Operation("upper", 1, 1, type_texts(None), "in capitals", _s(str.upper)),
        Operation(
            "length", 1, 1, type_texts(INT, binary=True), "the number of characters (of bytes, for binary)", _s(len)
        ),
        Operation("substr", 3, 3, type_substr, "from a position (the first is 1), so many characters", _s(m.substr)),
        Operation("concat", 1, None, type_concat, "one after the other; null if any is", _s(m.concat)),
        Operation(
            "contains",
            2,
            2,
            type_texts(BOOLEAN, binary=True),
            "the second occurs in the first",
            _s(lambda x, y: y in x),
        ),
        Operation(
            "starts_with", 2, 2, type_texts(BOOLEAN, binary=True), "begins with", _s(lambda x, y: x.startswith(y))
        ),
        Operation("ends_with", 2, 2, type_texts(BOOLEAN, binary=True), "ends with", _s(lambda x, y: x.endswith(y))),
        Operation(
            "like",
            2,
            2,
            type_like,
            "is like a pattern: % any text, _ one character; after a backslash they are plain",
            _s(like),
        ),
        Operation("trim", 1, 2, type_texts(None), "without spaces (or these characters) at both ends", _s(m.trim)),
        Operation("ltrim", 1, 2, type_texts(None), "without spaces (or these characters) at the start", _s(m.ltrim)),
        Operation("rtrim", 1, 2, type_texts(None), "without spaces (or these characters) at the end", _s(m.rtrim)),
        Operation(
            "replace", 3, 3, type_texts(None), "every occurrence of the second replaced by the third", _s(m.replace)
        ),
        Operation("year", 1, 1, _MOMENT, "the year", _s(m.part("year"))),
        Operation("month", 1, 1, _MOMENT, "1 to 12", _s(m.part("month"))),
        Operation("day", 1, 1, _MOMENT, "the day of the month", _s(m.part("day"))),
        Operation("hour", 1, 1, _MOMENT, "0 to 23; 0 for a date", _s(m.part("hour"))),
        Operation("minute", 1, 1, _MOMENT, "0 to 59", _s(m.part("minute"))),
        Operation("second", 1, 1, _MOMENT, "0 to 59", _s(m.part("second"))),
        Operation("weekday", 1, 1, _MOMENT, "0 is Monday, 6 is Sunday", _s(m.weekday)),
        Operation("date_add", 2, 2, type_date_add, "so many days later", _s(m.date_add)),
        Operation("date_diff", 2, 2, type_date_diff, "days from the second to the first", _s(m.date_diff)),
        *(
            Operation(
                f.name, f.least, f.most, type_by_signature(f), f.says, f.fn if f.sees_null or not f.fn else _s(f.fn)
            )
            for f in FUNCTIONS.values()
        ),
        *(
            Operation(name, 2, 2, type_tried, f"{of}; null where it has no value or no room", _s(fn))
            for name, (of, fn) in number_functions.TRIED.items()
        ),
    )
}
REFUSING = (
    "repeat",
    "space",
    "lpad",
    "rpad",
    "bround",
    "ceil_to",
    "floor_to",
    "sequence",
    "sequence_by",
    "array_repeat",
)
"""Functions that may refuse the step."""


IN_TURN: dict[str, Callable[..., Any]] = {
    "and": m.both_in_turn,
    "or": m.either_in_turn,
    "coalesce": m.coalesce_in_turn,
    "when": m.when_in_turn,
}
"""Operations that ask for their arguments one after the other: an overflow in one that is not asked for is none."""


def evaluate(expr: Expr, row: dict[str, Any]) -> Any:
    """What an expression gives for one row of plain values: the definition."""
    match expr:
        case Literal(value):
            return value
        case Call(op, args) if op in IN_TURN:
            return IN_TURN[op](*(partial(evaluate, arg, row) for arg in args))
        case Call(op, args, _, options):
            fn = OPERATIONS[op].fn
            assert fn is not None, op
            return fn(*(evaluate(arg, row) for arg in args), *options)
    return row[expr.name]
