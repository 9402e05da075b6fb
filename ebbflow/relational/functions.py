"""SQL's functions, by name: those of the table of operations, and those that are spelt in a way of their own.

Rule: a name stands for the row of the table that has it, with text, numbers and dates converted as Spark does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    array_of,
    struct_of,
)
from ebbflow.expressions.calendar_functions import MICROS, MONTHS, unit_of
from ebbflow.expressions.operations import FUNCTIONS, MOMENTS, OPERATIONS, VOID, as_written, cast, renamed, typed
from ebbflow.expressions.resolve import literal
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational.refusals import refused, unsupported

Bind = Callable[[exp.Expression], Expr]
Called = Callable[[exp.Expression, Sequence[exp.Expression], Bind], Expr]
STAMP = "yyyy-MM-dd HH:mm:ss"


def called(name: str, node: exp.Expression, args: Sequence[Expr]) -> Expr:
    """A function of the table on these values; text, numbers and dates become what it takes, as in Spark."""
    entry = OPERATIONS[name]
    if len(args) < entry.least or (entry.most is not None and len(args) > entry.most):
        raise wrong_number(name, entry.least, entry.most, len(args), node)
    return typed(name, as_written(name, [_as_taken(name, i, arg) for i, arg in enumerate(args)]))


def wrong_number(name: str, least: int, most: int | None, given: int, node: exp.Expression) -> Exception:
    """A function that is given more or fewer values than it takes."""
    range_ = f"{least} or more" if most is None else f"{least}" if most == least else f"{least} to {most}"
    plural = "" if range_ == "1" else "s"
    return refused(f"{name} takes {range_} value{plural}, and is given {given}", node, "Give as many.")


TAKES = {
    **dict.fromkeys(
        ("isnull", "isnotnull", "positive", "year", "month", "day", "hour", "minute", "second", "dayofmonth"), (1, 1)
    ),
    **dict.fromkeys(("nanvl", "right", "date_part", "datepart", "date_sub"), (2, 2)),
    **dict.fromkeys(("to_date", "try_to_date", "to_timestamp", "try_to_timestamp", "to_timestamp_ltz"), (1, 2)),
    **dict.fromkeys(("to_timestamp_ntz", "from_unixtime", "btrim", "ltrim", "rtrim", "log"), (1, 2)),
    **dict.fromkeys(("dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff"), (2, 3)),
    "unix_timestamp": (0, 2), "to_unix_timestamp": (0, 2), "nvl2": (3, 3), "pi": (0, 0), "e": (0, 0),
}  # fmt: skip
"""How many values the functions take that are spelt in a way of their own."""


def check_number(name: str, node: exp.Expression) -> None:
    """Refuse a function that is given more or fewer values than it takes: one that nobody reads is a wrong answer."""
    least, most = TAKES.get(name, (0, len(node.expressions)))
    if not least <= len(node.expressions) <= most:
        raise wrong_number(name, least, most, len(node.expressions), node)


def _as_taken(name: str, at: int, arg: Expr) -> Expr:
    kind, here = FUNCTIONS[name].kind(at) if name in FUNCTIONS else "any", arg.type
    if here == VOID:
        return arg
    if kind == "text" and here != STRING:
        return cast(arg, STRING)
    if kind == "bytes" and not here.is_text:
        return cast(arg, STRING)
    if kind in ("int", "whole") and not here.is_integer and (here == STRING or here.is_number):
        return cast(arg, INT if here == STRING and kind == "whole" else LONG)
    if kind == "whole" and here == BOOLEAN:
        return cast(arg, INT)
    if kind in ("double", "number") and here == STRING:
        return cast(arg, DOUBLE)
    if kind == "date" and here == STRING:
        return cast(arg, DATE)
    return cast(arg, TIMESTAMP) if kind in ("moment", "timestamp") and here == STRING else arg


# ---- spelt in a way of their own ------------------------------------------------------------


def _operation(name: str) -> Called:
    return lambda node, args, bind: called(name, node, [bind(arg) for arg in args])


def _typed(op: str, *more: Expr) -> Called:
    """An operation that has no signature."""
    return lambda node, args, bind: called(op, node, [*(bind(arg) for arg in args), *more])


def _read_as(target: Type, op: str) -> Called:
    """to_date(x), to_date(x, format)."""

    def made(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
        value = bind(args[0])
        if len(args) == 1 or value.type != STRING:
            return cast(value, target)
        return called(op, node, [value, *(bind(arg) for arg in args[1:])])

    return made


def _unix_timestamp(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    if not args:
        raise unsupported(node, "the present time")
    value = bind(args[0])
    if value.type in MOMENTS:
        return called("unix_timestamp", node, [value])
    return called("unix_timestamp_as", node, [value, bind(args[1]) if len(args) > 1 else Literal(STAMP, STRING)])


def _from_unixtime(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    form = bind(args[1]) if len(args) > 1 else Literal(STAMP, STRING)
    return called("from_unixtime", node, [bind(args[0]), form])


def _unit(node: exp.Expression) -> str:
    unit = unit_of(node.name)
    if unit is None:
        raise refused(f'"{node.name}" is no unit of time', node, "Write year, month, day, hour, minute or second.")
    return unit


def _unit_added(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    """dateadd(unit, n, x), timestampadd; with two arguments so many days later."""
    if len(args) == 2:
        return typed("date_add", (_as_date(bind(args[0])), bind(args[1])))
    return called("timestampadd", node, [literal(_unit(args[0])), bind(args[1]), bind(args[2])])


def _unit_between(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    """datediff(unit, start, end), timestampdiff; with two arguments the days from the second to the first."""
    if len(args) == 2:
        return typed("date_diff", (_as_date(bind(args[0])), _as_date(bind(args[1]))))
    return called("timestampdiff", node, [literal(_unit(args[0])), bind(args[1]), bind(args[2])])


def _days_earlier(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    return typed("date_add", (_as_date(bind(args[0])), typed("neg", (bind(args[1]),))))


def _as_date(value: Expr) -> Expr:
    return cast(value, DATE) if value.type == STRING else value


def later(moment: Expr, number: Expr, unit: str, node: exp.Expression) -> Expr:
    """A date or a timestamp so many units later, with Spark's type: a date stays one for whole days."""
    if moment.type == STRING:
        moment = cast(moment, TIMESTAMP)
    zero = Literal(0, LONG)
    if unit in MONTHS:
        return called("later", node, [moment, _times(number, MONTHS[unit]), zero, zero])
    if moment.type == DATE and unit in ("day", "week"):
        return called("later", node, [moment, zero, _times(number, 7 if unit == "week" else 1), zero])
    if moment.type == DATE:
        moment = cast(moment, TIMESTAMP)
    if unit in ("day", "week"):
        return called("later", node, [moment, zero, _times(number, 7 if unit == "week" else 1), zero])
    if isinstance(number, Literal) and isinstance(number.value, int):  # whole days go by the calendar
        days, micros = divmod(abs(number.value) * MICROS[unit], MICROS["day"])
        sign = -1 if number.value < 0 else 1
        return called("later", node, [moment, zero, Literal(sign * days, LONG), Literal(sign * micros, LONG)])
    return called("timestampadd", node, [literal(unit), number, moment])


def _times(number: Expr, factor: int) -> Expr:
    if isinstance(number, Literal) and isinstance(number.value, int):
        return Literal(number.value * factor, LONG)
    return number if factor == 1 else typed("mul", (number, Literal(factor, LONG)))


def _right(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    text, many = (bind(arg) for arg in args)
    text = text if text.type.is_text else cast(text, STRING)
    none = typed("and", (typed("le", (many, Literal(0, LONG))), typed("not", (typed("is_null", (text,)),))))
    return typed("when", (none, Literal("", STRING), typed("substr", (text, typed("neg", (many,)), many))))


def _present(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    value, there, missing = (bind(arg) for arg in args)
    return typed("when", (typed("is_null", (value,)), missing, there))


def _decoded(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    """decode(bytes, charset), or decode(x, a, b, ..., otherwise): b where x equals a."""
    values = [bind(arg) for arg in args]
    if len(values) == 2:
        return called("decode", node, values)
    subject, *rest = values
    parts: list[Expr] = []
    for i in range(0, len(rest) - 1, 2):
        parts += [typed("eq_null_safe", (subject, rest[i])), rest[i + 1]]
    return typed("when", [*parts, rest[-1] if len(rest) % 2 else Literal(None, VOID)])


def _position(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    return called("locate", node, [bind(arg) for arg in args])


def _null_test(negated: bool) -> Called:
    def made(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
        found = typed("is_null", (bind(args[0]),))
        return typed("not", (found,)) if negated else found

    return made


def _nanvl(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    value, other = (bind(arg) for arg in args)
    return typed("when", (typed("is_nan", (value,)), other, value))


def _trimmed(op: str) -> Called:
    """btrim(x, these); ltrim(these, x), in which the characters come first."""

    def made(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
        values = [value if (value := bind(arg)).type == STRING else cast(value, STRING) for arg in args]
        return called(op, node, values if op == "trim" else values[::-1])

    return made


def _part(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    return part_of(args[0].name, bind(args[1]), node)


PARTS = {
    "year": "year", "y": "year", "years": "year", "yr": "year", "month": "month", "mon": "month", "months": "month",
    "day": "day", "d": "day", "days": "day", "hour": "hour", "h": "hour", "hours": "hour", "minute": "minute",
    "m": "minute", "min": "minute", "minutes": "minute", "second": "second", "s": "second", "sec": "second",
    "seconds": "second", "quarter": "quarter", "qtr": "quarter", "week": "weekofyear", "w": "weekofyear",
    "weeks": "weekofyear", "doy": "dayofyear", "dow": "dayofweek", "dayofweek": "dayofweek", "yearofweek": "yearofweek",
}  # fmt: skip


def part_of(name: str, moment: Expr, node: exp.Expression) -> Expr:
    """extract(part from x)."""
    part = name.lower()
    if moment.type == STRING:
        moment = cast(moment, TIMESTAMP if PARTS.get(part) in ("hour", "minute", "second") else DATE)
    if part in ("dow_iso", "dayofweek_iso", "isodow"):
        return cast(typed("add", (typed("weekday", (moment,)), Literal(1, LONG))), INT)
    if part == "epoch":
        if moment.type == DATE:
            moment = cast(moment, TIMESTAMP)
        return typed("div", (cast(called("unix_micros", node, [moment]), DOUBLE), Literal(1e6, DOUBLE)))
    if part not in PARTS:
        raise unsupported(
            node, f"extract({part} ...)", f"There are: {', '.join(dict.fromkeys(PARTS.values()))}, epoch."
        )
    return typed(PARTS[part], (moment,))


CASTS = {
    "bigint": LONG, "smallint": SHORT, "tinyint": BYTE, "float": FLOAT, "boolean": BOOLEAN, "timestamp": TIMESTAMP,
    "decimal": Type("decimal", 10, 0), "binary": BINARY,
}  # fmt: skip
"""Types that are functions too; sqlglot knows the others."""


def _cast_to(target: Type) -> Called:
    def made(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
        if len(args) != 1:
            raise refused(f"a cast takes 1 value, and is given {len(args)}", node, f"cast(x as {target})")
        return cast(bind(args[0]), target)

    return made


def _to_text(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    """to_char(moment, format); of numbers, whose formats are others, Spark's is not here."""
    values = [bind(arg) for arg in args]
    if len(values) != 2 or values[0].type not in (*MOMENTS, VOID):
        raise unsupported(node, "to_char of anything but a date or a timestamp", "For numbers: format_number, cast.")
    return called("date_format", node, values)


def _moment_part(part: str) -> Called:
    return lambda node, args, bind: part_of(part, bind(args[0]), node)


def _constant(value: float) -> Called:
    return lambda node, args, bind: Literal(value, DOUBLE)


def _struct(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    """struct(a, b + 1 as c): a field is called as its column or its alias."""
    parts: list[Expr] = []
    for i, each in enumerate(args):
        inside = each.this if isinstance(each, exp.Alias) else each
        name = each.alias if isinstance(each, exp.Alias) else each.name if isinstance(each, exp.Column) else ""
        parts += [Literal(name or f"col{i + 1}", STRING), bind(inside)]
    return called("named_struct", node, parts)


def _zipped(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    """arrays_zip(a, b): a field is called as its column, else by its number."""
    found = called("arrays_zip", node, [bind(arg) for arg in args])
    names = [arg.name if isinstance(arg, exp.Column) else str(i) for i, arg in enumerate(args)]
    kinds = [kind for _, kind in found.type.element.parts]
    return renamed(found, array_of(struct_of(*zip(names, kinds))))


def _itself(node: exp.Expression, args: Sequence[exp.Expression], bind: Bind) -> Expr:
    return bind(args[0])


BY_NAME: dict[str, Called] = {
    **{name: _operation(f.name) for f in FUNCTIONS.values() for name in (f.name, *f.also.split())},
    **{name: _operation(name) for name in ("try_add", "try_subtract", "try_multiply", "try_divide", "try_mod")},
    "to_date": _read_as(DATE, "to_date_as"), "try_to_date": _read_as(DATE, "to_date_as"),
    "to_timestamp": _read_as(TIMESTAMP, "to_timestamp_as"), "try_to_timestamp": _read_as(TIMESTAMP, "to_timestamp_as"),
    "to_timestamp_ltz": _read_as(TIMESTAMP, "to_timestamp_as"),
    "to_timestamp_ntz": _read_as(TIMESTAMP_NTZ, "to_ntz_as"),
    "unix_timestamp": _unix_timestamp, "to_unix_timestamp": _unix_timestamp, "from_unixtime": _from_unixtime,
    "dateadd": _unit_added, "date_add": _unit_added, "timestampadd": _unit_added, "date_sub": _days_earlier,
    "datediff": _unit_between, "date_diff": _unit_between, "timestampdiff": _unit_between,
    **{part: _moment_part(part) for part in ("year", "month", "day", "hour", "minute", "second")},
    "dayofmonth": _moment_part("day"), "date_part": _part, "datepart": _part, "weekday": _typed("weekday"),
    "week": _operation("weekofyear"), "right": _right, "nvl2": _present, "decode": _decoded, "position": _position,
    "isnull": _null_test(False), "isnotnull": _null_test(True), "nanvl": _nanvl, "equal_null": _typed("eq_null_safe"),
    **{name: _cast_to(kind) for name, kind in CASTS.items()},
    "to_char": _to_text, "to_varchar": _to_text,
    "btrim": _trimmed("trim"), "ltrim": _trimmed("ltrim"), "rtrim": _trimmed("rtrim"),
    "struct": _struct, "arrays_zip": _zipped,
    "mod": _typed("mod"), "positive": _itself, "pi": _constant(3.141592653589793),
    "e": _constant(2.718281828459045),
    "log10": _typed("log10"), "log2": _typed("log2"), "negative": _typed("neg"), "signum": _typed("sign"),
    "log": lambda node, args, bind: called("log" if len(args) == 1 else "log_of", node, [bind(arg) for arg in args]),
}  # fmt: skip
NOT_BY_NAME = ("get_item", "get_field", "with_field", "later", "sequence_by", "log_of", "ceil_to", "floor_to",
               "to_date_as", "to_ntz_as", "to_timestamp_as", "unix_timestamp_as", "bitwise_and", "bitwise_or",
               "bitwise_xor")  # fmt: skip
for _name in NOT_BY_NAME:
    del BY_NAME[_name]
