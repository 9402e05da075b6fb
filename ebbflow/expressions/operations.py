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
from decimal import Decimal
from functools import partial
from typing import Any

from ebbflow.columns.like_patterns import like, read_pattern
from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)  # fmt: skip
from ebbflow.errors import TypeMismatch
from ebbflow.expressions import calendar_functions, hashes, number_functions, text_functions
from ebbflow.expressions import reference as m
from ebbflow.expressions.signature import Function
from ebbflow.expressions.typed import Call, Expr, Literal

VOID = Type("void")  # of a null that nothing has given a type yet
MOMENTS = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
CLOCKS = ("year", "month", "day", "hour", "minute", "second", "weekday")
BY_ZONE = {
    (TIMESTAMP, DATE), (TIMESTAMP, TIMESTAMP_NTZ), (TIMESTAMP, STRING),
    (DATE, TIMESTAMP), (TIMESTAMP_NTZ, TIMESTAMP), (STRING, TIMESTAMP),
}  # fmt: skip
"""The casts that depend on a zone."""
Typed = tuple[tuple[Expr, ...], Type]
Typing = Callable[[str, Sequence[Expr]], Typed]


@dataclass(frozen=True)
class Operation:
    """`fn(*values, *options)` is the meaning on one row; `least` and `most` bound the arguments (None: no bound)."""

    name: str
    least: int
    most: int | None
    typing: Typing
    says: str
    fn: Callable[..., Any] | None  # None: put together of others, and never in a plan


def decimal(precision: int, scale: int) -> Type:
    """Of so many digits as there can be, as Spark's: where there are too many, scale gives way to 6 at least."""
    if precision > PRECISION:
        precision, scale = PRECISION, max(PRECISION - (precision - scale), min(scale, 6))
    return Type("decimal", precision, scale)


def bounded(precision: int, scale: int) -> Type:
    """Of so many digits as there can be; the scale stays."""
    return Type("decimal", min(precision, PRECISION), min(scale, PRECISION))


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
    return [replace(arg, type=INT) if isinstance(arg, Literal) and _type_beside(arg) == INT else arg for arg in args]


def cast(expr: Expr, target: Type) -> Expr:
    """As the user asks for it; a cast that can never succeed is refused."""
    if not _castable(expr.type, target):
        raise TypeMismatch(
            f"cast cannot make {_a(target)} of {shown(expr)}, {_a(expr.type)}.", hint=_cast_hint(expr.type, target)
        )
    if expr.type == target:
        return expr
    if expr.type == VOID:
        return converted(expr, target)
    return Call("cast", (expr,), target, _cast_options(expr.type, target))


def _cast_options(here: Type, target: Type) -> tuple[str, ...]:
    return (str(target), "float") if here == FLOAT and target == STRING else (str(target),)


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


def converted(expr: Expr, target: Type) -> Expr:
    """As we need it; nothing to do where the words are the same."""
    here = expr.type
    if same_words(here, target) and here.precision <= target.precision:
        return expr
    if isinstance(expr, Literal) and (here, target) not in BY_ZONE:
        try:
            return Literal(m.cast(expr.value, str(target)), target)
        except OverflowError as error:
            raise TypeMismatch(
                f"{shown(expr)} is to become {_a(target)}: {error}.",
                hint=f"A decimal has at most {PRECISION} digits.",
            ) from error
    return Call("cast", (expr,), target, _cast_options(here, target))


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
    return None


def same_words(one: Type, two: Type) -> bool:
    """Whether equal values of the two types are equal words."""
    if one.name == two.name == "decimal":
        return one.scale == two.scale and one.is_wide == two.is_wide
    return one == two or (one.is_integer and two.is_integer) or (one.is_float and two.is_float)


def shown(expr: Expr) -> str:
    return f'"{expr}"' if not isinstance(expr, Literal) else f"the value {expr}"


def _a(kind: Type) -> str:
    return f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"


WHOLE_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 20}
"""The digits that Spark gives an integer beside a decimal."""


def whole_digits(t: Type) -> int:
    return t.precision - t.scale if t.name == "decimal" else WHOLE_DIGITS[t.name]


def _castable(here: Type, target: Type) -> bool:
    if here == target or here == VOID or here == STRING:
        return here != STRING or target != VOID
    if target == STRING:
        return True
    if here.is_number or here == BOOLEAN:
        return target.is_number or target == BOOLEAN or (target == TIMESTAMP and here != BOOLEAN)
    if here in MOMENTS and target in MOMENTS:
        return True
    return here == TIMESTAMP and target.is_number


def _cast_hint(here: Type, target: Type) -> str:
    if here == TIMESTAMP_NTZ and target.is_number:
        return 'It is no instant; that of the program\'s zone is .cast("timestamp").'
    if here == DATE:
        return "Days between two dates are end.dt.days_since(start); parts are .dt.year(), .dt.month(), .dt.day()."
    return f'Through text: .cast("string").cast("{target}").'


# ---- typing rules ---------------------------------------------------------------------------


def _refuse(op: str, args: Sequence[Expr], wants: str, hint: str | None = None) -> TypeMismatch:
    got = ", ".join(f"{shown(arg)} is {_a(arg.type)}" for arg in args if arg.type != VOID)
    return TypeMismatch(f"{OPERATIONS[op].name} takes {wants}; {got}.", hint=hint)


def _numbers(op: str, args: Sequence[Expr]) -> None:
    if all(arg.type.is_number or arg.type == VOID for arg in args):
        return
    types = [arg.type for arg in args]
    hint = 'Convert one side, for example with .cast("long").'
    if op == "add" and STRING in types:
        hint = "Text is put together with ebb.concat(a, b); a number in text becomes one with .cast."
    elif any(kind in MOMENTS for kind in types):
        hint = "Days are added with .dt.add_days(n) and counted with .dt.days_since(start)."
    raise _refuse(op, args, "numbers", hint)


def _alike(op: str, args: Sequence[Expr], wants: str = "values of one type") -> Typed:
    args = _dates_from_text(args)
    target = common_type([_type_beside(arg) for arg in args])
    if target is None:
        raise _refuse(op, args, wants, "Convert one side with .cast, so that both have one type.")
    return tuple(converted(arg, target) for arg in args), target


def _dates_from_text(args: Sequence[Expr]) -> Sequence[Expr]:
    """Text constants beside dates and timestamps are read as such: r.day >= "2024-02-29"."""
    moments = [arg.type for arg in args if arg.type in MOMENTS]
    target = common_type(moments)
    if not moments or target is None:
        return args
    found = []
    for arg in args:
        if isinstance(arg, Literal) and arg.type == STRING:
            value = m.cast(arg.value, str(target))
            if value is None:
                raise TypeMismatch(
                    f"{arg} does not read as a {target}.", hint='Write it as "2024-02-29" or "2024-02-29 13:05:00".'
                )
            arg = Literal(value, target) if _is_instant(arg, target) else converted(arg, target)
        found.append(arg)
    return found


def _is_instant(text: Literal, target: Type) -> bool:
    """Whether it is known without a zone what a text is as one of these."""
    return target != TIMESTAMP or m.names_zone(str(text.value))


def _type_beside(arg: Expr) -> Type:
    """A constant whole number is an int where it fits one, as in PySpark; what is computed of ints is a long here."""
    small = isinstance(arg, Literal) and arg.type == LONG and isinstance(arg.value, int) and abs(arg.value) < 2**31
    return INT if small else arg.type


def _arithmetic(op: str, args: Sequence[Expr]) -> Typed:
    _numbers(op, args)
    target = common_type([arg.type for arg in args])
    assert target is not None
    if target.is_float:
        return tuple(converted(arg, DOUBLE) for arg in args), DOUBLE
    if target.is_integer or target == VOID:
        return tuple(converted(arg, LONG) for arg in args), LONG
    return _of_decimals(op, tuple(_in_digits(arg) for arg in args))


def _division(op: str, args: Sequence[Expr]) -> Typed:
    _numbers(op, args)
    decimals = any(arg.type.name == "decimal" for arg in args) and not any(arg.type.is_float for arg in args)
    return _of_decimals(op, tuple(_in_digits(arg) for arg in args)) if decimals else _doubles(op, args)


def _of_decimals(op: str, args: tuple[Expr, ...]) -> Typed:
    """Arguments as they are, and the type that Spark gives the result."""
    (p, s), (q, t) = ((whole_digits(arg.type) + arg.type.scale, arg.type.scale) for arg in args)
    scale, whole = max(s, t), (p - s, q - t)
    alike = _at_one_scale(args)
    if max(arg.type.scale for arg in alike) < scale:  # a constant with zeros at its end, which count
        alike = args
    if op == "floordiv":
        return alike, LONG
    if op in ("add", "sub"):
        return alike, decimal(max(whole) + scale + 1, scale)
    if op == "mod":
        return alike, decimal(min(whole) + scale, scale)
    if op == "mul":
        return args, decimal(p + q + 1, s + t)
    assert op == "div", op
    scale = max(6, s + q + 1)
    return args, decimal(p - s + t + scale, scale)


def _in_digits(arg: Expr) -> Expr:
    """A constant whole number has the digits that it has; one that is null has one."""
    if arg.type == VOID:
        return Literal(None, Type("decimal", 1, 0))
    if isinstance(arg, Literal) and arg.type.is_integer and isinstance(arg.value, int):
        digits = len(str(abs(arg.value)))
        return Literal(m.cast(arg.value, f"decimal({digits},0)"), Type("decimal", digits, 0))
    return arg


def _at_one_scale(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Constants with the scale of the columns beside them, where they have no more digits than that."""
    scales = {arg.type.scale for arg in args if not isinstance(arg, Literal)}
    if len(scales) != 1 or not all(arg.type.is_exact for arg in args):
        return args
    (scale,) = scales
    return tuple(_exactly(arg, scale) or arg if isinstance(arg, Literal) else arg for arg in args)


def _exactly(arg: Literal, scale: int) -> Literal | None:
    """The same number with another scale; None where that is not possible."""
    if arg.type.scale == scale:
        return arg
    if arg.value is None:
        return Literal(None, Type("decimal", max(scale, 1), scale))
    units = Decimal(arg.value).scaleb(scale, m.EXACT)  # type: ignore[arg-type]
    if units != units.to_integral_value() or units.copy_abs() >= 10**PRECISION:
        return None
    digits = max(len(str(abs(int(units)))), scale, 1)
    return Literal(Decimal(int(units)).scaleb(-scale, m.EXACT), Type("decimal", digits, scale))


def _options(op: str, args: Sequence[Expr], result: Type) -> tuple[object, ...]:
    if op in FUNCTIONS and FUNCTIONS[op].of_types:
        return (" ".join(str(arg.type) for arg in args),)
    return _rounds_to(number_functions.TRIED[op][0] if op in number_functions.TRIED else op, args, result)


def _rounds_to(op: str, args: Sequence[Expr], result: Type) -> tuple[object, ...]:
    """The scale of a decimal result, as an option, where the digits of the arguments do not tell it."""
    if result.name != "decimal" or op not in ("add", "sub", "mul", "div"):
        return ()
    scales = [arg.type.scale for arg in args]
    exact = sum(scales) if op == "mul" else max(scales)
    return () if op != "div" and result.scale == exact else (result.scale,)


def _one_number(op: str, args: Sequence[Expr]) -> Typed:
    _numbers(op, args)
    if args[0].type.name == "decimal":
        return tuple(args), args[0].type
    kind = DOUBLE if args[0].type.is_float else LONG
    return (converted(args[0], kind),), kind


def _doubles(op: str, args: Sequence[Expr]) -> Typed:
    _numbers(op, args)
    return tuple(converted(arg, DOUBLE) for arg in args), DOUBLE


def _to_long(op: str, args: Sequence[Expr]) -> Typed:
    _numbers(op, args)
    if args[0].type.name == "decimal":
        return tuple(args), bounded(args[0].type.precision - args[0].type.scale + 1, 0)
    return (converted(args[0], LONG) if args[0].type == VOID else args[0],), LONG


def _round(op: str, args: Sequence[Expr]) -> Typed:
    _numbers(op, args)
    number, digits = args[0], args[1]
    if not (isinstance(digits, Literal) and isinstance(digits.value, int)):
        raise TypeMismatch(
            f"round takes the number of digits as a plain number; got {shown(digits)}.", hint="For example round(x, 2)."
        )
    if number.type.name != "decimal":
        (number,), kind = _one_number(op, [number])
        return (number, digits), kind
    whole = number.type.precision - number.type.scale + 1
    if digits.value < 0:
        return (number, digits), bounded(max(whole, 1 - digits.value), 0)
    scale = min(number.type.scale, digits.value)
    return (number, digits), bounded(whole + scale, scale)


def _comparison(op: str, args: Sequence[Expr]) -> Typed:
    return _comparable(op, args, "two values of one type"), BOOLEAN


def _comparable(op: str, args: Sequence[Expr], wants: str) -> tuple[Expr, ...]:
    """Decimals stay as they are beside integers and decimals of another scale: none of them would have room."""
    if any(arg.type.name == "decimal" for arg in args) and all(arg.type.is_exact or arg.type == VOID for arg in args):
        exact = next(arg.type for arg in args if arg.type != VOID)
        return _at_one_scale(tuple(Literal(None, exact) if arg.type == VOID else arg for arg in args))
    return _alike(op, args, wants)[0]


def _booleans(op: str, args: Sequence[Expr]) -> Typed:
    if not all(arg.type in (BOOLEAN, VOID) for arg in args):
        hint = (
            'Compare it first, for example col("x") != 0; around & and | comparisons need brackets: (a > 1) & (b < 2).'
        )
        raise _refuse(op, args, "conditions (booleans)", hint)
    return tuple(converted(arg, BOOLEAN) for arg in args), BOOLEAN


def _any_one(op: str, args: Sequence[Expr]) -> Typed:
    return tuple(converted(arg, BOOLEAN) if arg.type == VOID else arg for arg in args), BOOLEAN


def _is_nan(op: str, args: Sequence[Expr]) -> Typed:
    return _doubles(op, args)[0], BOOLEAN


def _is_in(op: str, args: Sequence[Expr]) -> Typed:
    """Constants with more digits than the column has are none of its values."""
    x, *options = _comparable(op, args, "choices of the column's type")
    if x.type.is_exact and not isinstance(x, Literal):
        exact = [_exactly(each, x.type.scale) if isinstance(each, Literal) else each for each in options]
        options = [each for each in exact if each is not None]
    return (x, *options), BOOLEAN


def _choice(op: str, args: Sequence[Expr]) -> Typed:
    return _alike(op, args)


def _when(op: str, args: Sequence[Expr]) -> Typed:
    conditions = _booleans(op, args[:-1:2])[0]
    values, target = _alike(op, [*args[1::2], args[-1]])
    paired = [side for pair in zip(conditions, values[:-1], strict=True) for side in pair]
    return (*paired, values[-1]), target


def _texts(result: Type | None, *, binary: bool = False) -> Typing:
    """All arguments are text (or, where that makes sense, all are bytes); the result has their type unless given."""

    def rule(op: str, args: Sequence[Expr]) -> Typed:
        kind = common_type([arg.type for arg in args])
        if kind == VOID:
            kind = STRING
        if kind != STRING and not (binary and kind == BINARY):
            raise _refuse(op, args, "text", 'Make it text with .cast("string").')
        return tuple(converted(arg, kind) for arg in args), result or kind

    return rule


def _like(op: str, args: Sequence[Expr]) -> Typed:
    (text,), _ = _texts(None)(op, args[:1])
    pattern = args[1]
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise TypeMismatch(
            f"like takes its pattern as plain text; got {shown(pattern)}.",
            hint="Text of another column is looked for with .str.contains(column).",
        )
    if read_pattern(pattern.value) is None:
        raise TypeMismatch(
            f"like finds a backslash in {pattern} before something that needs none.",
            hint='It makes %, _ and itself plain: "100\\\\%" is like 100%.',
        )
    return (text, pattern), BOOLEAN


def _substr(op: str, args: Sequence[Expr]) -> Typed:
    (text,), kind = _texts(None, binary=True)(op, args[:1])
    numbers = _integers(op, args[1:])
    return (text, *numbers), kind


def _integers(op: str, args: Sequence[Expr]) -> tuple[Expr, ...]:
    if not all(arg.type.is_integer or arg.type == VOID for arg in args):
        raise _refuse(op, args, "whole numbers here", 'Convert with .cast("long").')
    return tuple(converted(arg, LONG) for arg in args)


def _mix(op: str, args: Sequence[Expr]) -> Typed:
    kind = args[0].type
    return (_integers(op, args) if kind.is_integer else _texts(LONG, binary=True)(op, args)[0]), LONG


def _moment(*kinds: Type) -> Typing:
    def rule(op: str, args: Sequence[Expr]) -> Typed:
        arg = args[0] if args[0].type != VOID else converted(args[0], kinds[0])
        if arg.type not in kinds:
            raise _refuse(
                op, args, "a date or a timestamp", 'Read text as one with .cast("date") or .cast("timestamp").'
            )
        return (arg,), INT

    return rule


def _dates(op: str, args: Sequence[Expr]) -> tuple[Expr, ...]:
    args = [Literal(m.cast(a.value, "date"), DATE) if isinstance(a, Literal) and a.type == STRING else a for a in args]
    if not all(arg.type in (*MOMENTS, VOID) for arg in args):
        raise _refuse(op, args, "dates", 'Read text as one with .cast("date").')
    return tuple(converted(arg, DATE) for arg in args)


def _date_add(op: str, args: Sequence[Expr]) -> Typed:
    return (*_dates(op, args[:1]), *_integers(op, args[1:])), DATE


def _date_diff(op: str, args: Sequence[Expr]) -> Typed:
    return _dates(op, args), INT


def _never(op: str, args: Sequence[Expr]) -> Typed:
    raise AssertionError("casts are made by `cast` and `converted`")


# ---- functions, by their signatures ---------------------------------------------------------


def _by_signature(function: Function) -> Typing:
    def rule(op: str, args: Sequence[Expr]) -> Typed:
        fitted = tuple(_fitted(function, i, arg) for i, arg in enumerate(args))
        problem = calendar_functions.format_problem(op, fitted) or _pattern_problem(op, fitted)
        if problem is not None:
            raise TypeMismatch(f"{op} cannot read {problem}.", hint=_PATTERN_HINT)
        if callable(function.gives):
            return fitted, function.gives(fitted)
        return fitted, fitted[0].type if function.gives == "same" else Type(function.gives)

    return rule


_PATTERN_HINT = "Letters of formats are Spark's: yyyy-MM-dd HH:mm:ss; regular expressions are Python's, groups $1."


def _pattern_problem(op: str, args: Sequence[Expr]) -> str | None:
    text = args[1].value if op.startswith("regexp_") and isinstance(args[1], Literal) else None
    is_wrong = isinstance(text, str) and not text_functions.is_pattern(text)
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
            return _texts(None)(op, [arg])[0][0]
        case "bytes":
            return _texts(None, binary=True)(op, [arg])[0][0]
        case "coded":
            return _integers(op, [arg])[0] if arg.type.is_integer else _texts(None, binary=True)(op, [arg])[0][0]
        case "int":
            return _integers(op, [arg])[0]
        case "whole":
            _integers(op, [arg])
            return converted(arg, INT) if arg.type == VOID else arg
        case "double":
            return _doubles(op, [arg])[0][0]
        case "number" | "exact":
            _numbers(op, [arg])
            if kind == "exact" and arg.type.is_float:
                raise _refuse(op, [arg], "whole numbers and decimals", 'Convert with .cast("decimal(18,4)").')
            return converted(arg, LONG) if arg.type == VOID else arg
        case "date":
            return _dates(op, [arg])[0]
        case "moment" | "timestamp":
            return _as_moment(op, arg, kind)
        case "boolean":
            return _booleans(op, [arg])[0][0]
    return converted(arg, STRING) if arg.type == VOID else arg


def _as_moment(op: str, arg: Expr, kind: str) -> Expr:
    if isinstance(arg, Literal) and arg.type == STRING:
        arg = _dates_from_text([arg, Literal(None, TIMESTAMP)])[0]
    if arg.type == VOID or (kind == "timestamp" and arg.type == DATE):
        arg = converted(arg, TIMESTAMP)
    if arg.type not in MOMENTS:
        raise _refuse(op, [arg], "a date or a timestamp", 'Read text as one with .cast("date") or .cast("timestamp").')
    return arg


def _tried(op: str, args: Sequence[Expr]) -> Typed:
    of = number_functions.TRIED[op][0]
    return OPERATIONS[of].typing(of, args)


# ---- the table ------------------------------------------------------------------------------

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for table in (text_functions, number_functions, calendar_functions, hashes)
    for function in table.TABLE
}
_MOMENT = _moment(TIMESTAMP, DATE, TIMESTAMP_NTZ)
_s = m.strict


OPERATIONS: dict[str, Operation] = {
    entry.name: entry
    for entry in (
        Operation("add", 2, 2, _arithmetic, "x + y", _s(m.add)),
        Operation("sub", 2, 2, _arithmetic, "x - y", _s(m.sub)),
        Operation("mul", 2, 2, _arithmetic, "x * y", _s(m.mul)),
        Operation("div", 2, 2, _division, "x / y, a double (of decimals a decimal); null when y is 0", _s(m.div)),
        Operation("floordiv", 2, 2, _arithmetic, "x // y, rounded down; null when y is 0", _s(m.floordiv)),
        Operation(
            "mod", 2, 2, _arithmetic, "the rest of x / y, with the sign of x (Spark's %); null when y is 0", _s(m.mod)
        ),
        Operation("neg", 1, 1, _one_number, "-x", _s(m.neg)),
        Operation("abs", 1, 1, _one_number, "x without its sign", _s(m.absolute)),
        Operation("eq", 2, 2, _comparison, "x equals y; nan equals nan", _s(m.comparison(operator.eq))),
        Operation("ne", 2, 2, _comparison, "x differs from y", _s(m.comparison(operator.ne))),
        Operation("lt", 2, 2, _comparison, "x comes before y; text by text, nan last", _s(m.comparison(operator.lt))),
        Operation("le", 2, 2, _comparison, "x equals y or comes before it", _s(m.comparison(operator.le))),
        Operation("gt", 2, 2, _comparison, "x comes after y", _s(m.comparison(operator.gt))),
        Operation("ge", 2, 2, _comparison, "x equals y or comes after it", _s(m.comparison(operator.ge))),
        Operation("eq_null_safe", 2, 2, _comparison, "x equals y, where null equals null; never null", m.eq_null_safe),
        Operation("and", 2, 2, _booleans, "both hold (three-valued)", m.both),
        Operation("or", 2, 2, _booleans, "at least one holds (three-valued)", m.either),
        Operation("not", 1, 1, _booleans, "it does not hold (three-valued)", _s(operator.not_)),
        Operation("is_null", 1, 1, _any_one, "x is null", lambda x: x is None),
        Operation("is_nan", 1, 1, _is_nan, "x is nan; false for null", lambda x: x is not None and x != x),
        Operation("coalesce", 1, None, _choice, "the first that is not null", m.coalesce),
        Operation(
            "when", 3, None, _when, "condition, value, ..., otherwise: the value of the first that holds", m.when
        ),
        Operation("cast", 1, 1, _never, "x as another type; null where that fails", m.cast),
        Operation("is_in", 1, None, _is_in, "x equals one of the others", m.is_in),
        Operation("greatest", 1, None, _choice, "the largest that is not null", m.greatest),
        Operation("least", 1, None, _choice, "the smallest that is not null", m.least),
        Operation("sqrt", 1, 1, _doubles, "square root; nan below 0", _s(m.real(math.sqrt))),
        Operation("exp", 1, 1, _doubles, "e to the power x", _s(m.real(math.exp))),
        Operation("log", 1, 1, _doubles, "natural logarithm; null at 0 and below", _s(m.logarithm(math.log))),
        Operation("log2", 1, 1, _doubles, "logarithm to base 2; null at 0 and below", _s(m.logarithm(math.log2))),
        Operation("log10", 1, 1, _doubles, "logarithm to base 10; null at 0 and below", _s(m.logarithm(math.log10))),
        Operation("pow", 2, 2, _doubles, "x to the power y, as a double", _s(m.power)),
        Operation("floor", 1, 1, _to_long, "the next whole number below, a long (of a decimal a decimal)", _s(m.floor)),
        Operation("ceil", 1, 1, _to_long, "the next whole number above, a long (of a decimal a decimal)", _s(m.ceil)),
        Operation("round", 2, 2, _round, "to so many digits, half away from zero", _s(m.rounded)),
        Operation("sin", 1, 1, _doubles, "sine", _s(m.real(math.sin))),
        Operation("cos", 1, 1, _doubles, "cosine", _s(m.real(math.cos))),
        Operation("tan", 1, 1, _doubles, "tangent", _s(m.real(math.tan))),
        Operation("sign", 1, 1, _doubles, "-1.0, 0.0 or 1.0", _s(m.sign)),
        Operation("mix", 1, 1, _mix, "a long that looks random; of longs that differ, different ones", _s(m.mixed)),
        Operation("lower", 1, 1, _texts(None), "in small letters", _s(str.lower)),
        Operation("upper", 1, 1, _texts(None), "in capitals", _s(str.upper)),
        Operation("length", 1, 1, _texts(INT, binary=True), "the number of characters (of bytes, for binary)", _s(len)),
        Operation("substr", 3, 3, _substr, "from a position (the first is 1), so many characters", _s(m.substr)),
        Operation("concat", 1, None, _texts(None, binary=True), "one after the other; null if any is", _s(m.concat)),
        Operation(
            "contains", 2, 2, _texts(BOOLEAN, binary=True), "the second occurs in the first", _s(lambda x, y: y in x)
        ),
        Operation("starts_with", 2, 2, _texts(BOOLEAN, binary=True), "begins with", _s(lambda x, y: x.startswith(y))),
        Operation("ends_with", 2, 2, _texts(BOOLEAN, binary=True), "ends with", _s(lambda x, y: x.endswith(y))),
        Operation(
            "like",
            2,
            2,
            _like,
            "is like a pattern: % any text, _ one character; after a backslash they are plain",
            _s(like),
        ),
        Operation("trim", 1, 2, _texts(None), "without spaces (or these characters) at both ends", _s(m.trim)),
        Operation("ltrim", 1, 2, _texts(None), "without spaces (or these characters) at the start", _s(m.ltrim)),
        Operation("rtrim", 1, 2, _texts(None), "without spaces (or these characters) at the end", _s(m.rtrim)),
        Operation("replace", 3, 3, _texts(None), "every occurrence of the second replaced by the third", _s(m.replace)),
        Operation("year", 1, 1, _MOMENT, "the year", _s(m.part("year"))),
        Operation("month", 1, 1, _MOMENT, "1 to 12", _s(m.part("month"))),
        Operation("day", 1, 1, _MOMENT, "the day of the month", _s(m.part("day"))),
        Operation("hour", 1, 1, _MOMENT, "0 to 23; 0 for a date", _s(m.part("hour"))),
        Operation("minute", 1, 1, _MOMENT, "0 to 59", _s(m.part("minute"))),
        Operation("second", 1, 1, _MOMENT, "0 to 59", _s(m.part("second"))),
        Operation("weekday", 1, 1, _MOMENT, "0 is Monday, 6 is Sunday", _s(m.weekday)),
        Operation("date_add", 2, 2, _date_add, "so many days later", _s(m.date_add)),
        Operation("date_diff", 2, 2, _date_diff, "days from the second to the first", _s(m.date_diff)),
        *(
            Operation(f.name, f.least, f.most, _by_signature(f), f.says, f.fn if f.sees_null or not f.fn else _s(f.fn))
            for f in FUNCTIONS.values()
        ),
        *(
            Operation(name, 2, 2, _tried, f"{of}; null where it has no value or no room", _s(fn))
            for name, (of, fn) in number_functions.TRIED.items()
        ),
    )
}
REFUSING = ("repeat", "space", "lpad", "rpad", "bround", "ceil_to", "floor_to")
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
